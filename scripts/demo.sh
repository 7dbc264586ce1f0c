#!/usr/bin/env bash
# The main job, for real: a BareMetalHost with static addresses becomes an image that a BMC mounts. Everything listens
# on loopback, in a directory that is gone afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

cache="${DAYONE_CACHE:-$HOME/.cache/dayone}"
work="$(mktemp -d)"
pids=()
cleanup() {
  local status=$?
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  [ "$status" = 0 ] || { echo "--- logs" >&2; tail -n 20 "$work"/*.log >&2 || true; }
  rm -rf "$work"
}
trap cleanup EXIT

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
free_port() { /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
wait_for() {
  for _ in $(seq 100); do curl -fsS -o /dev/null "$1" 2>/dev/null && return 0; sleep 0.1; done
  echo "demo: $1 does not answer" >&2
  return 1
}

step "1. A small base ISO with the layout of a CoreOS live image"
fixtures/bases/make-coreos-iso.sh "$work/base.iso"
base_digest="$(sha256sum < "$work/base.iso")"
ls -l "$work/base.iso" | awk '{print "   " $5 " bytes"}'

step "2. dayone serves it"
api="127.0.0.1:$(free_port)" media="127.0.0.1:$(free_port)" bmc="127.0.0.1:$(free_port)"
"${DAYONE_BIN:-${CARGO_TARGET_DIR:-target}/debug/dayone}" serve --data-dir "$work/data" --base "coreos=$work/base.iso" \
  --api-listen "$api" --media-listen "$media" --media-url "http://$media" > "$work/dayone.log" 2>&1 &
pids+=($!)
wait_for "http://$api/readyz"

step "3. The BareMetalHost and its Secret are posted as they are"
host=fixtures/scenarios/static-ipv4-baremetalhost.yaml
curl -fsS --data-binary "@$host" -H 'Content-Type: application/yaml' \
  "http://$api/v1/images?base=coreos&format=iso" > "$work/image.json"
jq . "$work/image.json"
url="$(jq -r .url "$work/image.json")"

step "4. A BMC (sushy-tools' Redfish emulator) inserts the URL as virtual media"
mkdir "$work/bmc"
printf 'SUSHY_EMULATOR_STATE_DIR = "%s"\n' "$work/bmc" > "$work/bmc.conf"
TMPDIR="$work/bmc" "$cache/bin/sushy-emulator" --fake --config "$work/bmc.conf" \
  -i "${bmc%:*}" -p "${bmc#*:}" > "$work/bmc.log" 2>&1 &
pids+=($!)
wait_for "http://$bmc/redfish/v1/"
system="$(curl -fsS "http://$bmc/redfish/v1/Systems" | jq -r '.Members[0]["@odata.id"]')"
curl -fsS -X POST -H 'Content-Type: application/json' -d "{\"Image\": \"$url\"}" \
  "http://$bmc$system/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
curl -fsS "http://$bmc$system/VirtualMedia/Cd" | jq '{Image, Inserted, ConnectedVia}'

step "5. What the BMC read, seen with cpio: the keyfiles that the host's first boot will use"
read_by_bmc="$(find "$work/bmc" -name boot.iso)"
cmp -s "$work/base.iso" "$read_by_bmc" && { echo "demo: the BMC read the base, not the image" >&2; exit 1; }
isoinfo -i "$read_by_bmc" -x '/IMAGES/IGNITION.IMG;1' > "$work/embedded.cpio"
(cd "$work" && cpio --quiet -idm < embedded.cpio)
keyfiles=("$work"/etc/coreos-firstboot-network/*.nmconnection)
for keyfile in "${keyfiles[@]}"; do
  printf -- '--- %s (mode %s)\n' "${keyfile##*/}" "$(stat -c %a "$keyfile")"
  cat "$keyfile"
done
grep -q '192.168.111.110/24' "${keyfiles[@]}"

step "6. Ejected; and the base is what it was"
curl -fsS -X POST -H 'Content-Type: application/json' -d '{}' \
  "http://$bmc$system/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia"
[ "$(sha256sum < "$work/base.iso")" = "$base_digest" ]
echo "   disk written for this image: $(du -sk "$work/data/images" | cut -f1) KiB; the ISO itself was never copied"
