#!/usr/bin/env bash
# Makes the packages of one architecture from a program that is built: a .deb, a .rpm and a .tar.gz.
#
#   packages.sh ARCHITECTURE BINARY DIRECTORY      ARCHITECTURE: amd64 or arm64
#
# GENERATOR is a dayone that runs on this machine, if BINARY does not. LICENSES is a file with the licenses of what the program
# contains. FAST=1 does not compress: for tests, which have a large program.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/source.sh

[ $# = 3 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
architecture="$1" binary="$2" out="$3"
nfpm="${DAYONE_CACHE:-$HOME/.cache/dayone}/bin/nfpm"
[ -x "$nfpm" ] || { echo "packages.sh: there is no $nfpm; run scripts/setup-peers.sh" >&2; exit 1; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
umask 022

# stage DIRECTORY [VARIABLE=VALUE...]: the tree, with the same times everywhere
stage() {
  local directory="$1"
  shift
  env DESTDIR="$directory" PREFIX=/usr "$@" scripts/install.sh "$binary"
}

# contents FORMAT DIRECTORY: the tree as nfpm wants to have it. Only directories of our own belong to the package.
contents() {
  echo contents:
  (cd "$2" && find . -type f -printf '%P %m\n' | LC_ALL=C sort) | while read -r path mode; do
    printf -- '- src: %s\n  dst: /%s\n' "$2/$path" "$path"
    case "$1 $path" in
      *' etc/'*) echo '  type: config|noreplace' ;;
      'rpm usr/share/licenses/'*) echo '  type: license' ;;
      'rpm usr/share/doc/'* | 'rpm usr/share/man/'*) echo '  type: doc' ;;
    esac
    printf '  file_info:\n    mode: 0%s\n' "$mode"
  done
  (cd "$2" && find etc/dayone usr/share/*/dayone -type d | LC_ALL=C sort) | while read -r path; do
    printf -- '- dst: /%s\n  type: dir\n  file_info:\n    mode: 0755\n' "$path"
  done
}

# package FORMAT DIRECTORY
package() {
  local mtime
  mtime="$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)"
  {
    ARCHITECTURE="$architecture" MTIME="$mtime" DEB_COMPRESSION="${FAST:+none}" RPM_COMPRESSION="${FAST:+gzip:1}"
    sed "s#\${ARCHITECTURE}#$ARCHITECTURE#; s#\${VERSION}#$VERSION#; s#\${MTIME}#$MTIME#
         s#\${DEB_COMPRESSION}#${DEB_COMPRESSION:-xz}#; s#\${RPM_COMPRESSION}#${RPM_COMPRESSION:-xz}#" packaging/nfpm.yaml
    contents "$1" "$2"
  } >"$work/$1.yaml"
  "$nfpm" package --config "$work/$1.yaml" --packager "$1" --target "$out/" >/dev/null
}

stage "$work/deb" ZSHDIR=/usr/share/zsh/vendor-completions
doc="$work/deb/usr/share/doc/dayone"
# Debian has the license once for all packages.
rm "$doc/LICENSE"
install -m 0644 packaging/debian-copyright "$doc/copyright"
install -D -m 0644 packaging/lintian-overrides "$work/deb/usr/share/lintian/overrides/dayone"
{
  printf 'dayone (%s-1) unstable; urgency=medium\n\n  * CHANGELOG.md has the changes.\n\n' "$VERSION"
  printf ' -- The dayone authors <dayone@localhost>  %s\n' "$(date --utc --date "@$SOURCE_DATE_EPOCH" --rfc-email)"
} | gzip -9 --no-name >"$doc/changelog.Debian.gz"
package deb "$work/deb"

stage "$work/rpm"
mkdir -p "$work/rpm/usr/share/licenses/dayone"
mv "$work/rpm/usr/share/doc/dayone/LICENSE" "$work/rpm/usr/share/licenses/dayone/"
package rpm "$work/rpm"

# For everyone else: the same below one directory, with the units and the completions where make install puts them. tar as root would
# give the directories of the machine, such as /etc, the modes of those in the archive, and put directories in place of links such as
# /usr/local: only directories of our own are in it.
name="dayone-$VERSION-linux-$architecture"
stage "$work/$name" PREFIX=/usr/local
level=9
[ -z "${FAST:-}" ] || level=1
(cd "$work" && find "$name" ! -type d -print0 -o -path '*/dayone' -print0 -o -path '*/dayone/*' -print0) | LC_ALL=C sort --zero-terminated |
  tar --create --directory "$work" --null --no-recursion --files-from - --owner root:0 --group root:0 --numeric-owner --format gnu \
    --mtime "@$SOURCE_DATE_EPOCH" | gzip "-$level" --no-name >"$out/$name.tar.gz"
