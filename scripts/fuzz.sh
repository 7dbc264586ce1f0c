#!/usr/bin/env bash
# Runs every fuzz target for SECONDS each (10 if not given), from seeds made of the fixtures.
#   scripts/fuzz.sh [SECONDS [TARGET...]]
set -euo pipefail

cd "$(dirname "$0")/.."
seconds="${1:-10}"
shift || true
cache="${DAYONE_CACHE:-$HOME/.cache/dayone}"
cargo_fuzz="$cache/bin/cargo-fuzz"
# Building with the fuzzer's instrumentation takes longer than fuzzing: what is built outlives the clone.
built="$cache/fuzz-target"
# So does what was found: each run begins where the last one ended. Inputs of a MiB and more would fill the disk.
corpus="$cache/fuzz-corpus"
[ -x "$cargo_fuzz" ] || { echo "fuzz: $cargo_fuzz is missing; run scripts/setup-peers.sh" >&2; exit 1; }
# The coverage counters are in the stable toolchain, but only this makes it accept their options.
export RUSTC_BOOTSTRAP=1
# The tree has no unsafe code, so AddressSanitizer would find nothing that panics and debug assertions do not. Without it,
# building and running take half the time.
options=(--sanitizer none --target-dir "$built")

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

seed_documents() {
  local file
  for file in fixtures/inputs/*/*.yaml fixtures/inputs/*/*.json fixtures/nmstate/*/nmstate.yaml fixtures/nmstate/invalid/*.yaml \
    fixtures/scenarios/*.yaml fixtures/checks/*/*.yaml fixtures/checks/*/good/*.yaml; do
    cp "$file" "$1/${file//\//_}"
  done
}

# The profiles of one host behind each other.
seed_keyfiles() {
  local directory
  for directory in fixtures/inputs/keyfiles/* fixtures/nmstate/*/expected; do
    awk 'FNR == 1 && NR > 1 { printf "%%" } { print }' "$directory"/*.nmconnection > "$1/${directory//\//_}"
  done
}

# Tables and inventories, each behind a byte that says which it is, and a template that uses a value.
seed_fleet() {
  local file kind
  while read -r file; do
    case "$file" in
      *.csv) kind='\x00' ;;
      *.ini) kind='\x01' ;;
      *.xlsx) kind='\x04' ;;
      *) kind='\x02' ;;
    esac
    { printf "$kind"; printf '${name} ${ip}'; printf '\x00'; cat "$file"; } > "$1/${file//\//_}"
  done < <(find fixtures/inputs/fleet -name '*.csv' -o -name '*.ini' -o -name '*.xlsx' -o -name '*.yml' -o -name 'inventory*.yaml')
}

# Whole workbooks, and the parts of each with a zero byte between them.
seed_workbook() {
  local file part
  while read -r file; do
    cp "$file" "$1/${file//\//_}"
    for part in xl/worksheets/sheet1.xml xl/sharedStrings.xml xl/styles.xml; do
      bsdtar -xOf "$file" "$part" 2> /dev/null || true
      printf '\x00'
    done > "$1/${file//\//_}-parts"
  done < <(find fixtures/inputs/fleet -name '*.xlsx' -size +1)
}

# Each behind a byte that says which loader reads it.
seed_boot_config() {
  local file loader
  while read -r file; do
    case "$file" in
      */loader/entries/*) loader='\x02' ;;
      *grub* | *EFI*) loader='\x01' ;;
      *) loader='\x00' ;;
    esac
    { printf "$loader"; cat "$file"; } > "$1/${file//\//_}"
  done < <(find fixtures/boot-config/media -type f)
}

seed_ignition() {
  cp fixtures/ignition/*.ign "$1/"
}

seed_iso() {
  local file
  for file in fixtures/bases/*.iso.xz; do xz -dc "$file" > "$1/$(basename "$file" .xz)"; done
}

seed_iso_edit() {
  seed_iso "$1"
}

seed_minimal_iso() {
  xz -dc fixtures/bases/coreos-packed.iso.xz | bsdtar -xOf - coreos/miniso.dat > "$1/miniso.dat"
}

seed_fat() {
  local kind layout
  for kind in "-F12 64" "-F12 -s4 320" "-F16 -s1 -r32 2200"; do
    read -r -a layout <<< "$kind"
    mkfs.fat "${layout[@]:0:${#layout[@]}-1}" -C "$1/${kind// /}" "${layout[-1]}" > /dev/null
    mmd -i "$1/${kind// /}" ::EFI
    mcopy -i "$1/${kind// /}" fixtures/INDEX.md "::EFI/a long name.cfg"
    mcopy -i "$1/${kind// /}" rustfmt.toml ::GRUB.CFG
  done
}

seed_gpt() {
  truncate -s 60K "$1/disk"
  sgdisk -o -n 1:34:60 -t 1:EF00 -n 2:61:80 "$1/disk" > /dev/null
}

seed_range() {
  printf '\x00\x10\x00\x00\x00\x00\x00\x00bytes=0-99,200-299,-5' > "$1/several"
}

# An ISO image has its first descriptor at 32 KiB, and the fixtures a little more than one MiB. FAT16 begins at two MiB.
declare -A max_len=([iso]=2097152 [iso_edit]=2097152 [fat]=2359296)

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("$cargo_fuzz" list)

logs="$(mktemp -d)"
trap 'rm -rf "$logs"' EXIT
if [ ${#targets[@]} -eq 1 ]; then
  "$cargo_fuzz" build "${options[@]}" "${targets[0]}"
else
  "$cargo_fuzz" build "${options[@]}"
fi

run() {
  local target="$1" seeds="fuzz/corpus/seeds/$1" found="$corpus/$1"
  [ -z "${max_len[$target]:-}" ] || found="fuzz/corpus/$target"
  mkdir -p "$seeds" "$found"
  if declare -F "seed_$target" > /dev/null; then "seed_$target" "$seeds"; fi
  "$cargo_fuzz" run "${options[@]}" "$target" "$found" "$seeds" -- \
    -max_len="${max_len[$target]:-65536}" -timeout=30 -max_total_time="$seconds" -print_final_stats=1
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
    echo "fuzz: $target, $seconds s: $(grep number_of_executed_units "$logs/$target" || true)"
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
