#!/usr/bin/env bash
# A rack of three machines without DHCP, on this machine: one with an IPv4 address, one with IPv4 and IPv6, and one with a
# bond. Their BMCs are sushy-tools with libvirt; dayone boots them, and they call home. They are on a network of their own, in
# a network namespace: nothing on this machine or its networks changes, and everything is gone at the end.
#
#   rack.sh           with questions: you boot the machines from the page, or with one command
#   rack.sh --batch   without: one command boots them, or a browser at the page if RACK_BROWSER names node's modules for it
set -euo pipefail
cd "$(dirname "$0")/.."

cache="${DAYONE_CACHE:-$HOME/.cache/dayone}"
program="$(realpath "${DAYONE_BIN:-${CARGO_TARGET_DIR:-target}/debug/dayone}")"
batch=0
case "${1:-}" in
  --batch) batch=1 ;;
  '') [ -t 0 ] || batch=1 ;;
  *) echo "usage: rack.sh [--batch]" >&2; exit 2 ;;
esac

work="$(mktemp -d)"
chmod 0755 "$work"
relay=''
cleanup() {
  local status=$?
  trap - EXIT
  [ -z "$relay" ] || kill "$relay" 2>/dev/null || true
  if [ "$status" != 0 ]; then
    for log in "$work"/*.log "$work"/libvirt/log "$work"/libvirt/console-*; do
      [ -s "$log" ] && { echo "--- $log"; tail -n 20 "$log"; } >&2
    done
  fi
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }

# made SCRIPT SUFFIX [OPTION…]: what a script of fixtures/bases makes, kept under the name that the tests give it, too.
made() {
  local script="$1" suffix="$2" key name path
  shift 2
  key="$({ cat "fixtures/bases/$script"; [ $# = 0 ] || printf '\0%s' "$@"; } | sha256sum | cut -c 1-16)"
  name="${script#make-}"
  path="$cache/bases/${name%.sh}-$key.$suffix"
  if [ ! -e "$path" ]; then
    mkdir -p "$cache/bases"
    "fixtures/bases/$script" "$path.part" "$@" >&2
    mv "$path.part" "$path"
  fi
  echo "$path"
}

free_port() {
  /usr/bin/python3 - <<'PYTHON'
import socket

for port in [*range(8080, 8090), 0]:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(listener.getsockname()[1])
        break
PYTHON
}

step "1. A base: a live ISO with NetworkManager (made once, in some minutes, and kept in $cache)"
base="$(made make-ramdisk-iso.sh iso "$(made make-live-root.sh tar)")"
stat -c '   %n, %s bytes' "$base"

# Root or not: in the namespace, the script may do with the network what it wants.
enter=(unshare --net)
[ "$(id -u)" = 0 ] || enter=(unshare --user --map-current-user --keep-caps --net)
"${enter[@]}" true 2>/dev/null || {
  echo "rack: this user must not make network namespaces (${enter[*]} fails): run it with sudo" >&2
  exit 1
}
api="127.0.0.1:$(free_port)"
/usr/bin/python3 scripts/rack/network.py relay "$api" "$work/api.socket" &
relay=$!
RACK_API="$api" RACK_BASE="$base" RACK_BATCH="$batch" RACK_CACHE="$cache" RACK_DAYONE="$program" RACK_WORK="$work" \
  "${enter[@]}" scripts/rack/inside.sh
