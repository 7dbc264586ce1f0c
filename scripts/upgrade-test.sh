#!/usr/bin/env bash
# Updates a server to this tree and back, as docs/install.md describes it, with transfers and a boot in flight, and uses the servers with
# the commands of the other version. The earlier programs are built from git, and kept in ${DAYONE_CACHE:-~/.cache/dayone}.
# scripts/upgrade_test.py has what must stay as it was.
#
#   DAYONE_BIN=PROGRAM scripts/upgrade-test.sh    this tree's program is there already
#   DAYONE_EARLIER_BIN=PROGRAM …                  and so is an earlier one, for example of a package; no other earlier one is tried
set -euo pipefail
cd "$(dirname "$0")/.."

# 0.2.0, and a commit before the work on it: the command line, the API and the page are others.
earlier=(93cc17d3f51eeeb91c3c0932feb5eb557b228614 46dbc79048c5a233be3d5f1d2873bc4253ba364a)
cache="${DAYONE_CACHE:-$HOME/.cache/dayone}"

# In the directory of this tree, which has most of the dependencies.
target="${CARGO_TARGET_DIR:-$PWD/target}"

# build COMMIT: builds the program of a commit, unless it is there.
build() {
  local program="$cache/dayone-$1"
  if [ -x "$program" ]; then
    return
  fi
  echo "upgrade: building dayone of $(git log -1 --format='%as, %h' "$1") (once; kept in $cache)"
  tree="$(mktemp -d)"
  trap 'git worktree remove --force "$tree"' EXIT
  git worktree add --quiet --detach "$tree" "$1"
  CARGO_TARGET_DIR="$target" cargo build --locked --quiet --manifest-path "$tree/Cargo.toml" -p dayone
  git worktree remove --force "$tree"
  trap - EXIT
  cp "$target/debug/dayone" "$program.part" && mv "$program.part" "$program"
  rm "$target/debug/dayone"
}

programs=()
if [ -n "${DAYONE_EARLIER_BIN:-}" ]; then
  programs=("$DAYONE_EARLIER_BIN")
else
  for commit in "${earlier[@]}"; do
    build "$commit"
    programs+=("$cache/dayone-$commit")
  done
fi
if [ -z "${DAYONE_BIN:-}" ]; then
  cargo build --locked --quiet -p dayone
  DAYONE_BIN="$target/debug/dayone"
fi
for program in "${programs[@]}"; do
  echo "upgrade: from $("$program" -V), $program"
  /usr/bin/python3 -B scripts/upgrade_test.py "$program" "$DAYONE_BIN"
done
