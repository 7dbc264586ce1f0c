# shellcheck shell=bash
# Sourced by scripts that build what users get. Sets what they build it from:
#
#   VERSION             the version in Cargo.toml
#   DAYONE_COMMIT       the commit, with "-modified" behind it if files have changed since; empty without git
#   SOURCE_DATE_EPOCH   the time of the commit, which all files in packages have; 0 without git
#
# A variable that is set already keeps its value: a source archive has no git.

VERSION="$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)"
if [ -z "${DAYONE_COMMIT+set}" ]; then
  DAYONE_COMMIT="$(git rev-parse --verify --quiet HEAD || true)"
  if [ -n "$DAYONE_COMMIT" ] && [ -n "$(git status --porcelain --untracked-files=no)" ]; then
    DAYONE_COMMIT+="-modified"
  fi
fi
if [ -z "${SOURCE_DATE_EPOCH+set}" ]; then
  SOURCE_DATE_EPOCH="$(git log -1 --format=%ct 2>/dev/null || echo 0)"
fi
export VERSION DAYONE_COMMIT SOURCE_DATE_EPOCH
