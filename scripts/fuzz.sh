#!/usr/bin/env bash
# Runs every fuzz target for SECONDS each (60 if not given), from seeds made of the fixtures.
#   scripts/fuzz.sh [SECONDS [TARGET...]]
set -euo pipefail

cd "$(dirname "$0")/.."
seconds="${1:-60}"
shift || true
cargo_fuzz="${DAYONE_CACHE:-$HOME/.cache/dayone}/bin/cargo-fuzz"
[ -x "$cargo_fuzz" ] || { echo "fuzz: $cargo_fuzz is missing; run scripts/setup-peers.sh" >&2; exit 1; }
# The sanitizers are in the stable toolchain, but only this makes it accept their options.
export RUSTC_BOOTSTRAP=1

# Archives of one small directory: raw, compressed in three ways, and all behind each other.
seed_cpio() {
  (cd fixtures && find ignition -print | LC_ALL=C sort | cpio -o -H newc --owner 0:0 --reproducible --quiet) > "$1/raw"
}

seed_initramfs() {
  seed_cpio "$1"
  gzip -9n < "$1/raw" > "$1/gzip"
  xz --check=crc32 < "$1/raw" > "$1/xz"
  zstd -q -19 < "$1/raw" > "$1/zstd"
  cat "$1/raw" "$1/gzip" "$1/xz" "$1/zstd" > "$1/all"
}

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("$cargo_fuzz" list)
for target in "${targets[@]}"; do
  seeds="fuzz/corpus/seeds/$target" found="fuzz/corpus/$target"
  mkdir -p "$seeds" "$found"
  if declare -F "seed_$target" > /dev/null; then "seed_$target" "$seeds"; fi
  echo "fuzz: $target, $seconds s"
  "$cargo_fuzz" run "$target" "$found" "$seeds" -- -max_total_time="$seconds" -print_final_stats=1
done
