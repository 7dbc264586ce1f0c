#!/usr/bin/env bash
# Makes the release twice, in clones in two directories with other names, and compares every byte. It takes four builds with
# optimisation. What is not committed is not in the clones.
set -euo pipefail
cd "$(dirname "$0")/.."

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
commit="$(git rev-parse HEAD)"
for directory in "$work/one" "$work/another/place"; do
  git clone --quiet . "$directory"
  # There may be a new commit before the second clone.
  git -C "$directory" checkout --quiet --detach "$commit"
  env CARGO_TARGET_DIR="$directory/target" "$directory/scripts/release.sh" "$directory/dist"
done
if diff -r "$work/one/dist" "$work/another/place/dist"; then
  echo "reproducible: $(wc -l <"$work/one/dist/SHA256SUMS") files are the same from both directories"
else
  echo "reproducible: the two releases differ" >&2
  exit 1
fi
