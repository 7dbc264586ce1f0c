#!/usr/bin/env bash
# Updates a server to this tree and back, as docs/install.md describes it, with transfers and a boot in flight. The earlier program
# is built from git, and kept in ${DAYONE_CACHE:-~/.cache/dayone}. scripts/upgrade_test.py has what must stay as it was.
#
#   DAYONE_BIN=PROGRAM scripts/upgrade-test.sh    this tree's program is there already
#   DAYONE_EARLIER_BIN=PROGRAM …                  and so is the earlier one, for example of a package
set -euo pipefail
cd "$(dirname "$0")/.."

# The last release, or as long as there is none, a commit before the work on 0.2.0: the command line, the API and the page are others.
earlier=46dbc79048c5a233be3d5f1d2873bc4253ba364a
cache="${DAYONE_CACHE:-$HOME/.cache/dayone}"

if [ -z "${DAYONE_EARLIER_BIN:-}" ]; then
  DAYONE_EARLIER_BIN="$cache/dayone-$earlier"
  if [ ! -x "$DAYONE_EARLIER_BIN" ]; then
    echo "upgrade: building dayone of $(git log -1 --format='%as, %h' "$earlier") (once; kept in $cache)"
    tree="$(mktemp -d)"
    trap 'git worktree remove --force "$tree"' EXIT
    git worktree add --quiet --detach "$tree" "$earlier"
    # In the directory of this tree, which has most of the dependencies.
    target="${CARGO_TARGET_DIR:-$PWD/target}"
    CARGO_TARGET_DIR="$target" cargo build --locked --quiet --manifest-path "$tree/Cargo.toml" -p dayone
    cp "$target/debug/dayone" "$DAYONE_EARLIER_BIN.part" && mv "$DAYONE_EARLIER_BIN.part" "$DAYONE_EARLIER_BIN"
    rm "$target/debug/dayone"
  fi
fi
if [ -z "${DAYONE_BIN:-}" ]; then
  cargo build --locked --quiet -p dayone
  DAYONE_BIN="${CARGO_TARGET_DIR:-target}/debug/dayone"
fi
/usr/bin/python3 scripts/upgrade_test.py "$DAYONE_EARLIER_BIN" "$DAYONE_BIN"
