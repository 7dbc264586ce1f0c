#!/usr/bin/env bash
# Measures, and writes docs/benchmarks.md. Ratios are to a peer in the same run; absolute times are those of the machine.
set -euo pipefail
cd "$(dirname "$0")/.."

results="$(mktemp)"
trap 'rm -f "$results"' EXIT
cargo bench --locked --quiet -p acceptance --bench images | tee "$results"
echo | tee -a "$results"
cargo bench --locked --quiet -p acceptance --bench ten_thousand | tee -a "$results"
echo | tee -a "$results"
cargo bench --locked --quiet -p acceptance --bench live_images | tee -a "$results"
echo | tee -a "$results"
cargo bench --locked --quiet -p acceptance --bench send_queue | tee -a "$results"
echo | tee -a "$results"
cargo bench --locked --quiet -p acceptance --bench serving | tee -a "$results"
echo | tee -a "$results"
cargo bench --locked --quiet -p acceptance --bench slow_readers | tee -a "$results"
echo | tee -a "$results"
cargo bench --locked --quiet -p acceptance --bench check | tee -a "$results"
echo | tee -a "$results"
cargo bench --locked --quiet -p acceptance --bench boots | tee -a "$results"
echo | tee -a "$results"
BENCH_BOOTS=4500 cargo bench --locked --quiet -p acceptance --bench boots | tee -a "$results"
echo | tee -a "$results"
cargo bench --locked --quiet -p acceptance --bench metal3 | tee -a "$results"
{
  cat <<HEADER
# Benchmarks

\`make bench\` repeats the measurements and writes this page. Machine: $(nproc) cores, $(awk '/MemTotal/ {printf "%.0f", $2 / 1048576}' /proc/meminfo) GiB of memory, Linux $(uname -r | cut -d. -f1,2), $(findmnt -n -o FSTYPE -T "${TMPDIR:-/tmp}"), loopback.
Absolute times are for this machine. Ratios compare dayone with the other program in the same run.

HEADER
  cat "$results"
} > docs/benchmarks.md
