#!/usr/bin/env bash
# Runs every fuzz target for SECONDS each (10 if not given), from seeds made of the fixtures.
#   scripts/fuzz.sh [SECONDS [TARGET...]]
# FUZZ_SERVER=no leaves out the targets for which the server must be built.
# Removes inputs from the corpora that reach no code that others do not reach:
#   scripts/fuzz.sh minimise [TARGET...]
set -euo pipefail

cd "$(dirname "$0")/.."
seconds="${1:-10}"
shift || true
cache="${DAYONE_CACHE:-$HOME/.cache/dayone}"
cargo_fuzz="$cache/bin/cargo-fuzz"
# Building with the fuzzer's instrumentation takes longer than fuzzing: what is built outlives the clone.
built="$cache/fuzz-target"
# So does what was found: each run begins where the last one ended.
corpus="$cache/fuzz-corpus"
[ -x "$cargo_fuzz" ] || { echo "fuzz: $cargo_fuzz is missing; run scripts/setup-peers.sh" >&2; exit 1; }
# The coverage counters are in the stable toolchain, but only this makes it accept their options.
export RUSTC_BOOTSTRAP=1
# The tree has no unsafe code, so AddressSanitizer would find nothing that panics and debug assertions do not. Without it,
# building and running take half the time.
options=(--sanitizer none --target-dir "$built")
# A few seconds try the seeds, and little else: building with optimisation takes twice as long as without.
if [ "$seconds" != minimise ] && [ "$seconds" -lt 60 ]; then options+=(--dev); fi

# shellcheck source=scripts/fuzz-seeds.sh
source scripts/fuzz-seeds.sh

# An ISO image has its first descriptor at 32 KiB, and the fixtures a little more than one MiB. FAT16 begins at two MiB.
# Signatures are at the end of a program.
declare -A max_len=([iso]=2097152 [iso_edit]=2097152 [fat]=2359296 [pe]=1048576 [uki]=262144)
# The directory of what a target has found. Large inputs would fill the disk of the cache.
corpus_of() { if [ -z "${max_len[$1]:-}" ]; then echo "$corpus/$1"; else echo "fuzz/corpus/$1"; fi; }
max_len_of() { echo "${max_len[$1]:-65536}"; }

# Targets that read what the server stores. They are built only if one of them is to run.
mapfile -t of_server < <(awk -F'"' '/^name/ { name = $2 } /^required-features/ { print name }' fuzz/Cargo.toml)
is_of_server() { [[ " ${of_server[*]} " == *" $1 "* ]]; }

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("$cargo_fuzz" list)
chosen=()
for target in "${targets[@]}"; do
  if is_of_server "$target"; then
    [ "${FUZZ_SERVER:-yes}" = yes ] || { echo "fuzz: $target: not with FUZZ_SERVER=$FUZZ_SERVER; make fuzz runs it"; continue; }
    with_server=(--features server)
  fi
  chosen+=("$target")
done
targets=("${chosen[@]}")
options+=(${with_server[@]+"${with_server[@]}"})

logs="$(mktemp -d)"
trap 'rm -rf "$logs"' EXIT
if [ ${#targets[@]} -eq 1 ]; then
  "$cargo_fuzz" build "${options[@]}" "${targets[0]}"
else
  "$cargo_fuzz" build "${options[@]}"
fi

if [ "$seconds" = minimise ]; then
  for target in "${targets[@]}"; do
    found="$(corpus_of "$target")"
    [ -d "$found" ] || continue
    "$cargo_fuzz" cmin "${options[@]}" "$target" "$found" -- \
      -max_len="$(max_len_of "$target")" -timeout=30 > "$logs/$target" 2>&1
    echo "fuzz: $target: $(find "$found" -type f | wc -l) inputs"
  done
  exit
fi

run() {
  local target="$1" seeds="fuzz/corpus/seeds/$1" found
  found="$(corpus_of "$target")"
  # Seeds of an earlier run are those of earlier fixtures.
  rm -rf "$seeds"
  mkdir -p "$seeds" "$found"
  if declare -F "seed_$target" > /dev/null; then "seed_$target" "$seeds"; fi
  "$cargo_fuzz" run "${options[@]}" "$target" "$found" "$seeds" -- \
    -max_len="$(max_len_of "$target")" -timeout=30 -max_total_time="$seconds" -print_final_stats=1
}

# One on each core. A target that fails does not keep the others from running.
failed=()
running=0
declare -A names
end_one() {
  local pid status=0
  wait -n -p pid || status=$?
  running=$((running - 1))
  local target="${names[$pid]}"
  if [ "$status" -eq 0 ]; then
    # As in: #12345 DONE cov: 900 ft: 3000 corp: 400/64Kb lim: 65536 exec/s: 1000 rss: 100Mb
    echo "fuzz: $target, $seconds s: $(grep -a DONE "$logs/$target" | tail -n 1 || true)"
  else
    failed+=("$target")
    tail -n 60 "$logs/$target" >&2
    echo "fuzz: $target failed" >&2
  fi
}
for target in "${targets[@]}"; do
  [ "$running" -lt "$(nproc)" ] || end_one
  run "$target" > "$logs/$target" 2>&1 &
  names[$!]="$target"
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do end_one; done
[ ${#failed[@]} -eq 0 ] || { echo "fuzz: failed: ${failed[*]}" >&2; exit 1; }
