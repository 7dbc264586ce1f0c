#!/usr/bin/env bash
# Measures, and writes docs/benchmarks.md. Ratios are to a peer in the same run; absolute times are those of the machine.
set -euo pipefail
cd "$(dirname "$0")/.."

results="$(mktemp)"
trap 'rm -f "$results"' EXIT
measure() { # BENCHMARK
  cargo bench --locked --quiet -p acceptance --bench "$1" | tee -a "$results"
}
for benchmark in images ten_thousand live_images send_queue serving slow_readers check boots; do
  measure "$benchmark"
  echo | tee -a "$results"
done
BENCH_BOOTS=4500 measure boots
echo | tee -a "$results"
measure metal3
{
  cat <<HEADER
# Benchmarks

\`make bench\` repeats the measurements and writes this page. Machine: $(nproc) cores, $(awk '/MemTotal/ {printf "%.0f", $2 / 1048576}' /proc/meminfo) GiB of memory, Linux $(uname -r | cut -d. -f1,2), $(findmnt -n -o FSTYPE -T "${TMPDIR:-/tmp}"), loopback.
Absolute times are for this machine. Ratios compare dayone with the other program in the same run.

HEADER
  cat "$results"
} > docs/benchmarks.md
