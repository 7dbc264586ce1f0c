#!/usr/bin/env bash
# Installs dayone: the program, completions, manual pages, the systemd unit, sample settings and the documentation.
# `make install` calls it, and so do the scripts that make packages and archives: what they contain is listed here alone.
#
#   install.sh BINARY              installs below $DESTDIR
#   install.sh --uninstall         removes what it installs, but neither settings nor data
#
# PREFIX (default /usr/local), SYSCONFDIR (/etc), UNITDIR ($PREFIX/lib/systemd/system) and ZSHDIR
# ($PREFIX/share/zsh/site-functions) are where. GENERATOR is a dayone that runs on this machine, if BINARY does not. LICENSES is
# a file with the licenses of what BINARY contains.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# = 1 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
DESTDIR="${DESTDIR:-}" PREFIX="${PREFIX:-/usr/local}" SYSCONFDIR="${SYSCONFDIR:-/etc}"
UNITDIR="${UNITDIR:-$PREFIX/lib/systemd/system}" ZSHDIR="${ZSHDIR:-$PREFIX/share/zsh/site-functions}"
# They become words of the unit and parts of a program of sed.
for path in "$PREFIX" "$SYSCONFDIR" "$UNITDIR" "$ZSHDIR"; do
  [[ "$path" =~ ^/[A-Za-z0-9/._+:@~-]*$ ]] ||
    { echo "install.sh: $path: write PREFIX, SYSCONFDIR, UNITDIR and ZSHDIR as absolute paths of letters, digits and ._+:@~-" >&2; exit 2; }
done
bash_completion="$PREFIX/share/bash-completion/completions/dayone"
fish_completion="$PREFIX/share/fish/vendor_completions.d/dayone.fish"
man="$PREFIX/share/man/man1" doc="$PREFIX/share/doc/dayone"

if [ "$1" = --uninstall ]; then
  rm -fv "$DESTDIR$PREFIX/bin/dayone" "$DESTDIR$bash_completion" "$DESTDIR$ZSHDIR/_dayone" "$DESTDIR$fish_completion" \
    "$DESTDIR$man"/dayone{,-*}.1{,.gz} "$DESTDIR$UNITDIR/dayone.service"
  rm -rf "$DESTDIR$doc"
  echo "settings are still in $SYSCONFDIR/dayone, and data may be in /var/lib/dayone;" \
    "if the service still runs, end it: systemctl disable --now dayone" >&2
  exit 0
fi

binary="$1" generator="${GENERATOR:-$1}"
[ -x "$binary" ] || { echo "install.sh: there is no $binary; run make build first" >&2; exit 1; }

# put MODE SOURCE DESTINATION: SOURCE - is standard input
put() { install -D -m "$1" "$2" "$DESTDIR$3"; }
# put_settings MODE SOURCE DESTINATION: does not replace the user's own settings
put_settings() { [ -e "$DESTDIR$3" ] || put "$@"; }

put 0755 "$binary" "$PREFIX/bin/dayone"

"$generator" completions bash | put 0644 /dev/stdin "$bash_completion"
"$generator" completions zsh | put 0644 /dev/stdin "$ZSHDIR/_dayone"
"$generator" completions fish | put 0644 /dev/stdin "$fish_completion"
install -d -m 0755 "$DESTDIR$man"
"$generator" man-pages "$DESTDIR$man"
chmod 0644 "$DESTDIR$man"/dayone{,-*}.1
gzip -9 --no-name --force "$DESTDIR$man"/dayone{,-*}.1

sed "s#/usr/bin/dayone#$PREFIX/bin/dayone#; s#/etc/dayone/#$SYSCONFDIR/dayone/#" packaging/dayone.service |
  put 0644 /dev/stdin "$UNITDIR/dayone.service"
put_settings 0644 packaging/dayone.yaml "$SYSCONFDIR/dayone/dayone.yaml"
put_settings 0600 packaging/dayone.env "$SYSCONFDIR/dayone/dayone.env"

for page in LICENSE README.md CHANGELOG.md SECURITY.md; do put 0644 "$page" "$doc/$page"; done
(cd docs && find . -name '*.md' -printf '%P\n') | while read -r page; do put 0644 "docs/$page" "$doc/docs/$page"; done
put 0644 openapi/openapi.json "$doc/openapi/openapi.json"
[ -z "${LICENSES:-}" ] || put 0644 "$LICENSES" "$doc/third-party-licenses.txt"
