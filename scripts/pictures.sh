#!/usr/bin/env bash
# Makes the pictures of the documentation in docs/pictures: the page in a browser, and `dayone boots watch` at a terminal.
# Both are real: forty hosts boot behind emulated BMCs, and the tests that check the page and the command take the pictures.
set -euo pipefail
cd "$(dirname "$0")/.."

pictures="$PWD/docs/pictures"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

DAYONE_SCREENSHOTS="$work" cargo nextest run --locked --workspace -E 'binary_id(acceptance::page) & test(a_browser_follows)'
for name in boots-light boots-dark boot-light image-light; do
  cwebp -quiet -lossless -z 9 "$work/$name.png" -o "$pictures/page-$name.webp"
done
DAYONE_RECORDING="$work/boots.cast" \
  cargo nextest run --locked --workspace -E 'binary_id(acceptance::page) & test(a_terminal_is_recorded)' --run-ignored only
/usr/bin/python3 scripts/pictures/terminal.py draw "$work/boots.cast" "$pictures/boots-watch.svg"
ls -l "$pictures"
