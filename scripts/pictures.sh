#!/usr/bin/env bash
# Makes the pictures of the documentation in docs/pictures: the page in a browser, and `dayone boots watch` at a terminal.
# Both are real: hosts boot behind emulated BMCs, which read the image of a live system.
set -euo pipefail
cd "$(dirname "$0")/.."

pictures="$PWD/docs/pictures"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

DAYONE_PICTURES="$work" cargo nextest run --locked --workspace --run-ignored only \
  -E 'binary_id(acceptance::page) & test(pictures_are_taken)'
for name in boots-light boots-dark boot; do
  cwebp -quiet -lossless -z 9 "$work/$name.png" -o "$pictures/page-$name.webp"
done
/usr/bin/python3 scripts/pictures/terminal.py draw "$work/boots.cast" "$pictures/boots-watch.svg"
ls -l "$pictures"
