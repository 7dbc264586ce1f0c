#!/usr/bin/env bash
# The part of rack.sh that runs in the rack's network namespace, which rack.sh makes.
set -euo pipefail

work="$RACK_WORK" dayone="$RACK_DAYONE" cache="$RACK_CACHE"
# The place of dayone and of the BMCs in the rack's network.
server=192.0.2.1
names=(rack-1 rack-2 rack-3)
bmcs=(192.0.2.201 192.0.2.202 192.0.2.203)
uuids=(4c4c4544-0001-4000-8000-00c04fd43001 4c4c4544-0001-4000-8000-00c04fd43002 4c4c4544-0001-4000-8000-00c04fd43003)
# The NICs of each machine, by their numbers at the switch.
nics=("0" "1" "2 3")
nobody=65534
pids=()

cleanup() {
  local status=$? name
  trap - EXIT
  for name in "${names[@]}"; do virsh_of destroy "$name" >/dev/null 2>&1 || true; done
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
mac_of() { printf '52:54:00:da:01:%02x' "$1"; }
virsh_of() { virsh --quiet --connect "qemu+unix:///session?socket=$work/libvirt/runtime/libvirt/libvirt-sock" "$@"; }

# until_succeeds SECONDS COMMAND…
until_succeeds() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || { echo "rack: $* does not succeed" >&2; return 1; }
    sleep 0.2
  done
}

# go_on TEXT: waits for the user, if there is one.
go_on() {
  [ "$RACK_BATCH" = 1 ] || read -r -p "   $1 "
}

# libvirt must not be root's: then it is a session's, which needs neither systemd nor D-Bus.
unprivileged=(env)
[ "$(id -u)" != 0 ] || unprivileged=(setpriv --reuid "$nobody" --regid "$nobody" --clear-groups env)

# /dev/kvm may be there without being of any use.
has_kvm() {
  "${unprivileged[@]}" /usr/bin/python3 -c 'import fcntl, os; fcntl.ioctl(os.open("/dev/kvm", os.O_RDWR), 0xAE00)' 2>/dev/null
}

start_libvirt() {
  local home="$work/libvirt"
  mkdir -p "$home"/{runtime,config/libvirt,cache,data,pool}
  printf 'security_driver = "none"\nremember_owner = 0\nstdio_handler = "file"\n' >"$home/config/libvirt/qemu.conf"
  [ "$(id -u)" != 0 ] || chown -R "$nobody:$nobody" "$home"
  "${unprivileged[@]}" -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" TMPDIR="$home" XDG_RUNTIME_DIR="$home/runtime" \
    XDG_CONFIG_HOME="$home/config" XDG_CACHE_HOME="$home/cache" XDG_DATA_HOME="$home/data" \
    libvirtd >"$work/libvirt.log" 2>&1 &
  pids+=($!)
  # It first asks QEMU what it can.
  until_succeeds 120 virsh_of version
  virsh_of pool-create-as default dir --target "$home/pool"
}

# domain NUMBER: a machine with UEFI that starts from its disk, on which there is nothing.
domain() {
  local name="${names[$1]}" number bridges=''
  for number in 1 2 3 4 5 6 7; do bridges+="<controller type='pci' index='$number' model='pcie-root-port'/>"; done
  cat <<XML
<domain type='$kind'>
  <name>$name</name>
  <uuid>${uuids[$1]}</uuid>
  <memory unit='MiB'>1024</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type>
    <loader readonly='yes' secure='no' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader>
    <nvram template='/usr/share/OVMF/OVMF_VARS_4M.fd'/></os>
  <features><acpi/></features>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/><source file='$work/libvirt/disk-$name'/><target dev='sda' bus='sata'/><boot order='1'/>
    </disk>
    <controller type='usb' model='none'/>
    <controller type='pci' index='0' model='pcie-root'/>$bridges
$(for number in ${nics[$1]}; do interface "$number" $((2 + number % 2)); done)
    <serial type='file'><source path='$work/libvirt/console-$name'/></serial>
    <video><model type='vga'/></video>
    <memballoon model='none'/>
  </devices>
</domain>
XML
}

# interface NIC BUS: alone behind a PCI bridge, for which systemd calls it enp BUS s0.
interface() {
  cat <<XML
    <interface type='udp'><mac address='$(mac_of "$1")'/><model type='virtio'/><rom enabled='no'/>
      <source address='127.0.0.1' port='$((20000 + $1))'><local address='127.0.0.1' port='$((21000 + $1))'/></source>
      <address type='pci' bus='$2' slot='0'/></interface>
XML
}

# start_bmc NUMBER: a Redfish service for one machine, as a BMC has it.
start_bmc() {
  local home="$work/bmc-${names[$1]}" python="$cache/sushy-tools-2.2.0/bin/python"
  mkdir "$home"
  "$python" -c 'import bcrypt, sys; print("admin:" + bcrypt.hashpw(sys.argv[1].encode(), bcrypt.gensalt(4)).decode())' \
    "$bmc_password" >"$home/htpasswd"
  cat >"$home/conf.py" <<PYTHON
# Its machines take 1 to 11 s to change their power, as drawn: here always the least.
import random
random.randint = lambda least, most: least
SUSHY_EMULATOR_STATE_DIR = "$home"
SUSHY_EMULATOR_AUTH_FILE = "$home/htpasswd"
SUSHY_EMULATOR_ALLOWED_INSTANCES = ["${uuids[$1]}"]
SUSHY_EMULATOR_BOOT_LOADER_MAP = {"UEFI": {"x86_64": "/usr/share/OVMF/OVMF_CODE_4M.fd"}}
SUSHY_EMULATOR_SECURE_BOOT_DISABLED_NVRAM = "/usr/share/OVMF/OVMF_VARS_4M.fd"
PYTHON
  TMPDIR="$home" "$cache/bin/sushy-emulator" -i "${bmcs[$1]}" -p 8000 --config "$home/conf.py" \
    --libvirt-uri "qemu+unix:///session?socket=$work/libvirt/runtime/libvirt/libvirt-sock" >"$work/bmc-$1.log" 2>&1 &
  pids+=($!)
  until_succeeds 60 curl -fsS --user "admin:$bmc_password" "http://${bmcs[$1]}:8000/redfish/v1/Systems"
}

# host NUMBER NMSTATE: the host's objects, as Metal3 has them.
host() {
  local name="${names[$1]}"
  cat <<YAML
apiVersion: v1
kind: Secret
metadata: {name: $name-bmc}
stringData: {username: admin, password: $bmc_password}
---
apiVersion: v1
kind: Secret
metadata: {name: $name-network}
stringData:
  nmstate: |
    ${2//$'\n'/$'\n'    }
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: $name}
spec:
  bootMode: UEFI
  bootMACAddress: $(mac_of "${nics[$1]%% *}")
  bmc: {address: "redfish-virtualmedia+http://${bmcs[$1]}:8000/redfish/v1/Systems/${uuids[$1]}", credentialsName: $name-bmc}
  preprovisioningNetworkDataName: $name-network
---
YAML
}

ethernet() {
  cat <<YAML
- name: $1
  type: ethernet
  state: up
  identifier: mac-address
  mac-address: $(mac_of "$2")
YAML
}

documents() {
  host 0 "interfaces:
$(ethernet uplink 0)
  ipv4: {enabled: true, address: [{ip: 192.0.2.11, prefix-length: 24}]}"
  host 1 "interfaces:
$(ethernet uplink 1)
  ipv4: {enabled: true, address: [{ip: 192.0.2.12, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: \"2001:db8::12\", prefix-length: 64}]}"
  host 2 "interfaces:
$(ethernet uplink-a 2)
$(ethernet uplink-b 3)
- name: bond0
  type: bond
  state: up
  link-aggregation:
    mode: active-backup
    options: {miimon: \"100\"}
    port: [uplink-a, uplink-b]
  ipv4: {enabled: true, address: [{ip: 192.0.2.13, prefix-length: 24}]}"
}

step "2. A network without DHCP, three machines on it, and their BMCs (sushy-tools with libvirt)"
ip link set lo up
addresses=("$server/24" 2001:db8::1/64)
for bmc in "${bmcs[@]}"; do addresses+=("$bmc/24"); done
/usr/bin/python3 scripts/rack/network.py switch rack0 "${addresses[@]}" -- 4 >"$work/switch.log" 2>&1 &
pids+=($!)
until_succeeds 20 sh -c "ip -brief address show rack0 | grep -q ${bmcs[2]}"
bmc_password="$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"
kind=qemu
if has_kvm; then kind=kvm; fi
start_libvirt
for number in 0 1 2; do
  for file in disk console; do
    : >"$work/libvirt/$file-${names[$number]}"
    chmod 0666 "$work/libvirt/$file-${names[$number]}"
  done
  truncate -s 1M "$work/libvirt/disk-${names[$number]}"
  domain "$number" >"$work/domain.xml"
  virsh_of define "$work/domain.xml"
  start_bmc "$number"
  echo "   ${names[$number]}: BMC ${bmcs[$number]}, NICs$(for nic in ${nics[$number]}; do printf ' %s' "$(mac_of "$nic")"; done)"
done
if [ "$kind" = kvm ]; then
  echo "   The machines run with KVM."
else
  echo "   The machines run without KVM, in software: the boots take some minutes."
fi

step "3. dayone, with its page"
(umask 077 && od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$work/token")
"$dayone" serve --data-dir "$work/data" --base "live=$RACK_BASE" --api-listen 127.0.0.1:8080 --api-token-file "$work/token" \
  --media-listen "$server:8081" --media-url "http://$server:8081" --bmc-network 192.0.2.0/24 >"$work/dayone.log" 2>&1 &
pids+=($!)
until_succeeds 60 curl -fsS http://127.0.0.1:8080/readyz
/usr/bin/python3 scripts/rack/network.py relay "$work/api.socket" 127.0.0.1:8080 >"$work/relay.log" 2>&1 &
pids+=($!)
echo "   page:  http://$RACK_API/"
echo "   token: $(cat "$work/token")"

(umask 077 && documents >"$work/hosts.yaml")
[ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID" "$work/hosts.yaml"
access=(--server http://127.0.0.1:8080 --token-file "$work/token")
"$dayone" check "$work/hosts.yaml"
# The system of the tests stays on when it has booted.
arguments=(boot-report=3600 systemd.show_status=false)

all_boots() { "$dayone" boots list --format json "${access[@]}"; }
three_boots() { [ "$(all_boots | jq length)" = 3 ]; }

step "4. The three hosts of the documents boot"
if [ -n "${RACK_BROWSER:-}" ]; then
  node tests/peers/rack.mjs "$RACK_BROWSER" http://127.0.0.1:8080/ "$(cat "$work/token")" "$work/hosts.yaml" "${arguments[*]}"
else
  echo "   From the page: log in and drop the file $work/hosts.yaml there. Kernel arguments to add: ${arguments[*]}"
  echo "   Then press Boot hosts, and when the boots have begun, Enter here."
  go_on "Or press Enter to boot them with one command, dayone boot:"
  three_boots || "$dayone" boot "$work/hosts.yaml" --base live --booted-within 1800 "${arguments[@]/#/--karg-append=}" "${access[@]}" \
    2>"$work/next.log"
fi

step "5. dayone boots watch"
booted=0
"$dayone" boots watch "${access[@]}" || booted=$?

all_boots >"$work/boots.json"
step "$(jq -r '[.[].steps[] | select(.step == "booted" and .state == "done") | .detail | capture("called home from (?<address>[^, ]+)").address]
  | "\(length) of 3 booted: called home from \(join(", "))"' "$work/boots.json")"
go_on "Press Enter to eject the media, and to remove the rack:"

step "6. The media are ejected, and the rack is gone"
"$dayone" boots rm "${names[@]}" --power-off --wait "${access[@]}"
exit "$booted"
