# The seeds of the fuzz targets, made of the fixtures: `seed_TARGET DIRECTORY` writes them. For scripts/fuzz.sh.
# shellcheck shell=bash

# Archives of one small directory: raw, compressed in three ways, and all behind each other.
seed_cpio() {
  (cd fixtures && find ignition -print | LC_ALL=C sort | cpio -o -H newc --owner 0:0 --reproducible --quiet) > "$1/raw"
}

seed_initramfs() {
  seed_cpio "$1"
  gzip -9n < "$1/raw" > "$1/gzip"
  xz --check=crc32 < "$1/raw" > "$1/xz"
  zstd -q -19 < "$1/raw" > "$1/zstd"
  cat "$1/raw" "$1/gzip" "$1/xz" "$1/zstd" > "$1/all"
}

seed_documents() {
  local file
  for file in fixtures/inputs/*/*.yaml fixtures/inputs/*/*.json fixtures/nmstate/*/nmstate.yaml fixtures/nmstate/invalid/*.yaml \
    fixtures/scenarios/*.yaml fixtures/checks/*/*.yaml fixtures/checks/*/good/*.yaml; do
    cp "$file" "$1/${file//\//_}"
  done
}

# Each behind a byte that says which installer reads it.
seed_answers() {
  {
    printf '\x00d-i passwd/root-password password x\nd-i netcfg/get_ipaddress string 192.0.2.10/24\n'
    printf 'd-i netcfg/get_nameservers string \\\n  192.0.2.53\nd-i netcfg/choose_interface select eno1\n'
  } > "$1/preseed"
  { printf '\x01'; cat fixtures/answers/anaconda.ks; } > "$1/kickstart"
  { printf '\x02'; cat fixtures/answers/ubuntu.yaml; } > "$1/autoinstall"
  # A tab behind a block scalar, which the installer's reader refuses.
  printf '\x02autoinstall:\n  version: 1\n  early-commands:\n    - |\n     true\n\n  \t  ' > "$1/autoinstall-tab"
  { printf '\x03'; cat fixtures/answers/agama.json; } > "$1/agama"
}

# The profiles of one host behind each other.
seed_keyfiles() {
  local directory
  for directory in fixtures/inputs/keyfiles/* fixtures/nmstate/*/expected; do
    awk 'FNR == 1 && NR > 1 { printf "%%" } { print }' "$directory"/*.nmconnection > "$1/${directory//\//_}"
  done
}

# Tables and inventories, each behind a byte that says which it is, and a template that uses a value.
seed_fleet() {
  local file kind
  while read -r file; do
    case "$file" in
      *.csv) kind='\x00' ;;
      *.ini) kind='\x01' ;;
      *.xlsx) kind='\x04' ;;
      *) kind='\x02' ;;
    esac
    { printf "$kind"; printf '${name} ${ip}'; printf '\x00'; cat "$file"; } > "$1/${file//\//_}"
  done < <(find fixtures/inputs/fleet -name '*.csv' -o -name '*.ini' -o -name '*.xlsx' -o -name '*.yml' -o -name 'inventory*.yaml')
}

# Whole workbooks, and the parts of each with a zero byte between them.
seed_workbook() {
  local file part
  while read -r file; do
    cp "$file" "$1/${file//\//_}"
    for part in xl/worksheets/sheet1.xml xl/sharedStrings.xml xl/styles.xml; do
      bsdtar -xOf "$file" "$part" 2> /dev/null || true
      printf '\x00'
    done > "$1/${file//\//_}-parts"
  done < <(find fixtures/inputs/fleet -name '*.xlsx' -size +1)
}

# Each behind a byte that says which loader reads it.
seed_boot_config() {
  local file loader
  while read -r file; do
    case "$file" in
      */loader/entries/*) loader='\x02' ;;
      *grub* | *EFI*) loader='\x01' ;;
      *) loader='\x00' ;;
    esac
    { printf "$loader"; cat "$file"; } > "$1/${file//\//_}"
  done < <(find fixtures/boot-config/media -type f)
}

seed_ignition() {
  cp fixtures/ignition/*.ign "$1/"
}

seed_iso() {
  local file
  for file in fixtures/bases/*.iso.xz; do xz -dc "$file" > "$1/$(basename "$file" .xz)"; done
  seed_disk "$1"
}

# A small disk whose firmware starts a unified kernel image.
seed_disk() {
  local esp="$1/esp" disk="$1/disk" uki="$1/uki"
  python3 - "$uki" <<'PYTHON'
import struct, sys
initrd = b"".join(
    b"070701" + b"".join(b"%08x" % n for n in (1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0))
    + name + b"\0" * (4 - (110 + len(name)) % 4) + data + b"\0" * (-len(data) % 4)
    for name, mode, data in ((b"init", 0o100755, b"x"), (b"TRAILER!!!", 0, b"")))
sections = [(b".text", b"stub"), (b".sdmagic", b"#### LoaderInfo: systemd-stub 257 ####\0"), (b".osrel", b"ID=live\n"),
            (b".cmdline", b"quiet"), (b".linux", b"MZ"), (b".initrd", initrd)]
program = bytearray(1024)
program[:2], program[0x3c:0x40], program[0x80:0x84] = b"MZ", struct.pack("<I", 0x80), b"PE\0\0"
struct.pack_into("<HH", program, 0x84, 0x8664, len(sections))
struct.pack_into("<HHH", program, 0x94, 240, 0x22e, 0x20b)
struct.pack_into("<I", program, 0x98 + 60, 1024)
struct.pack_into("<H", program, 0x98 + 68, 10)
struct.pack_into("<I", program, 0x98 + 108, 16)
for index, (name, content) in enumerate(sections):
    struct.pack_into("<8sIIII", program, 0x188 + 40 * index, name, len(content), 0, len(content), len(program))
    program += content
open(sys.argv[1], "wb").write(program)
PYTHON
  mformat -C -T 800 -i "$esp" ::
  mmd -i "$esp" ::EFI ::EFI/BOOT
  mcopy -i "$esp" "$uki" ::EFI/BOOT/BOOTX64.EFI
  truncate -s 500K "$disk"
  sgdisk --set-alignment 1 --new 1:64:+800 --typecode 1:ef00 "$disk" >/dev/null
  dd if="$esp" of="$disk" bs=512 seek=64 conv=notrunc status=none
  rm "$esp" "$uki"
}

seed_iso_edit() {
  seed_iso "$1"
}

seed_minimal_iso() {
  xz -dc fixtures/bases/coreos-packed.iso.xz | bsdtar -xOf - coreos/miniso.dat > "$1/miniso.dat"
}

seed_fat() {
  local kind layout
  for kind in "-F12 64" "-F12 -s4 320" "-F16 -s1 -r32 2200"; do
    read -r -a layout <<< "$kind"
    mkfs.fat "${layout[@]:0:${#layout[@]}-1}" -C "$1/${kind// /}" "${layout[-1]}" > /dev/null
    mmd -i "$1/${kind// /}" ::EFI
    mcopy -i "$1/${kind// /}" fixtures/INDEX.md "::EFI/a long name.cfg"
    mcopy -i "$1/${kind// /}" rustfmt.toml ::GRUB.CFG
  done
}

# Signed programs. Their signatures are at their ends.
seed_pe() {
  cp /usr/lib/shim/fbx64.efi.signed /usr/lib/shim/mmx64.efi.signed "$1/"
}

# A unified kernel image that ukify makes, with a stub in the place of a kernel.
seed_uki() {
  local ukify=("$cache/virt-firmware-26.10-pefile-2024.8.26/bin/python" "$cache/ukify-trixie/usr/bin/ukify" build)
  local stubs="$cache/ukify-trixie/usr/lib/systemd/boot/efi"
  cp "$stubs/linuxx64.efi.stub" "$1/kernel"
  seed_cpio "$1"
  "${ukify[@]}" --stub "$stubs/linuxx64.efi.stub" --linux "$1/kernel" --initrd "$1/raw" --cmdline 'console=ttyS0' \
    --os-release 'ID=live' --uname 6.1 --output "$1/uki" > /dev/null
  # A stub that takes no initrd, and an initramfs by whose files dayone knows that its systemd reads credentials.
  local root="$1.root"
  rm -rf "$root" && mkdir -p "$root"/{etc,usr/lib/dracut/hooks,usr/lib/systemd/system}
  echo ID=live > "$root/etc/initrd-release"
  printf '[Service]\nImportCredential=tmpfiles.*\n' > "$root/usr/lib/systemd/system/systemd-tmpfiles-setup.service"
  (cd "$root" && find . | sort | cpio --quiet -o -H newc) > "$1/raw"
  "${ukify[@]}" --stub "$cache/stub-254/usr/lib/systemd/boot/efi/linuxx64.efi.stub" --linux "$1/kernel" --initrd "$1/raw" \
    --cmdline 'console=ttyS0' --os-release 'ID=live' --uname 6.1 --output "$1/uki-254" > /dev/null
  rm -r "$1/raw" "$root"
}

seed_gpt() {
  truncate -s 60K "$1/disk"
  sgdisk -o -n 1:34:60 -t 1:EF00 -n 2:61:80 "$1/disk" > /dev/null
}

# Documents of both steps, with a zero byte between them, behind a byte that says whether to derive the second step.
seed_second_step() {
  local file
  for file in fixtures/nmstate/*/nmstate.yaml; do
    { printf '\x03'; cat "$file"; printf '\x00'; cat fixtures/second-step/hosts/*.yml; } > "$1/${file//\//_}"
  done
  for file in fixtures/second-step/*/*.y*ml; do
    { printf '\x01'; cat "$file"; printf '\x00'; cat "$file"; printf '\x00'; cat "$file"; } > "$1/${file//\//_}"
  done
}

# An inventory and its files with variables, with a zero byte between them.
seed_inventory() {
  local file kind directory=fixtures/inputs/fleet/inventory-directory/inventory
  {
    printf '\x00'
    for file in hosts group_vars/all.yml host_vars/w2/main.yaml group_vars/web.yml; do cat "$directory/$file"; printf '\x00'; done
    cat "$directory/group_vars/web/prefix.json"
  } > "$1/directory"
  for file in fixtures/inputs/fleet/inventor*/*.ini fixtures/inputs/fleet/inventor*/*.y*ml fixtures/inputs/fleet/inventor*/*.json; do
    case "$file" in
      *.ini) kind='\x01' ;;
      *.json) kind='\x03' ;;
      *) kind='\x02' ;;
    esac
    { printf "$kind"; cat "$file"; printf '\x00v: 1\n\x00{v: "{{ x }}"}'; } > "$1/${file//\//_}"
  done
}

# The resources of every vendor's BMC as answers: for requests, and for the steps of a boot.
seed_redfish() {
  python3 - "$1" << 'EOF'
import json, pathlib, sys
other = ["201\nX-Auth-Token: 0123456789abcdef\nLocation: /redfish/v1/SessionService/Sessions/1\n\n{}",
         "202\nLocation: /redfish/v1/TaskService/Tasks/1\nRetry-After: 0\n\n{\"TaskState\": \"Running\"}",
         "400\n\n{\"error\": {\"code\": \"Base.1.8.GeneralError\", \"message\": \"no\", \"@Message.ExtendedInfo\": "
         "[{\"MessageId\": \"Base.1.8.PropertyUnknown\", \"Message\": \"Inserted is not known.\", \"MessageArgs\": [\"Inserted\"]}]}}",
         "400\n\n{\"error\": {\"message\": \"bad: Zx9!qv-Wk3~Lm7 http://192.0.2.1/i/abcdefghijklmnopqrstuvwxyz/boot.iso\"}}",
         "204\n\n", "412\nETag: W/\"1\"\n\n{}", "503\nRetry-After: Wed, 21 Oct 2037 07:28:00 GMT\n\nbusy"]
for file in sorted(pathlib.Path("fixtures/redfish").glob("*.json")):
    resources = json.loads(file.read_text())["resources"]
    answers = [f"200 {path}\nETag: \"1\"\n\n{json.dumps(body)}" for path, body in resources.items()]
    system = next(body for body in resources.values() if "#ComputerSystem." in body.get("@odata.type", ""))
    answers.append(f"200 /redfish/v1/Systems/1\n\n{json.dumps(system)}")
    for kind in (0, 2, 7):
        pathlib.Path(sys.argv[1], f"{file.stem}-{kind}").write_bytes(bytes([kind]) + "%%\n".join(answers + other).encode())
EOF
}

# The records in the tests, each behind a byte that says of what.
seed_records() {
  {
    printf '\x00{"version":1,"created":1700000000,"base":"coreos","label":"worker-1","files":{"initrd.img":'
    printf '"277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9"},"recipe":%s}' "$(recipe)"
  } > "$1/image"
  {
    printf '\x00{"version":2,"created":1700000000,"files":{},"access":{"since":1700000000000,"limits":{"ttl":3600,"max_reads":2,'
    printf '"only_from":["192.0.2.0/24","2001:db8::1/128"]},"delivered":{"boot.iso":7}},"recipe":%s}' "$(recipe)"
  } > "$1/limited-image"
  {
    printf '\x01{"version":1,"id":"06gq1k2m5v8t3n4p","created":1700000000000,"host":"worker-0","image":"%064d","medium":"cd",' 0
    printf '"boot_mode":"UEFI","bmc":{"address":"redfish://192.0.2.1/redfish/v1/Systems/1","credentials":"forgotten",'
    printf '"disable_certificate_verification":false},"options":{"wait_for":["call-home","reading"],"booted_within":1800,'
    printf '"shutdown_within":0,"eject":"when-booted","power_off":false},"addresses":["192.0.2.20"],"state":"running",'
    printf '"steps":[{"step":"image","state":"done","started":1,"ended":2,"detail":"published"}],"at_bmc":{"plan":{"vendor":"other",'
    printf '"medium":"cd","slots":[],"forms":[],"boot":[],"quirks":[],"system":{"path":"/redfish/v1/Systems/1","power_state":"On",'
    printf '"boot":{"source":{}}}},"copied":false,"started":{"was_off":true,"os_running":false}},"remarks":[{"at":3,"text":"a"}]}'
  } > "$1/boot"
  {
    printf '\x02{"version":1,"name":"fcos","sources":{"iso":{"url":"https://example.com/a.iso","sha256":"%064d"}},' 0
    printf '"state":{"ready":{"iso":"%064d"}}}' 0
  } > "$1/base"
  printf '\x03{"version":3,"encrypted":"qnV4nV6cVwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}\n' > "$1/encrypted"
  printf '\x03\x00\x20\x01{"version":1,"name":"fcos"}' > "$1/to-encrypt"
}

recipe() {
  printf '{"version":1,"recipe":{"base":"860a6cc40bd41710f9a46b85ada4398e2e80942ecdddc0d113f1653727a9148f","format":"initrd",'
  printf '"additions":{"keyfiles":[],"no_auto_default":false,"hostname":"worker-1","ssh_authorized_keys":[],"files":[{"path":'
  printf '"/etc/motd","mode":"0644","contents":"R3LDvMOfZQ=="}],"units":[]},"ignition":{"ignition":{"version":"3.4.0"},'
  printf '"x":[1.0,1000.0,-0.1,18446744073709551615,"\\u0001"]}}}'
}

seed_recipe() {
  recipe > "$1/recipe"
}

seed_audit_log() {
  printf '\x00{"sequence":1,"time":"2026-01-01T00:00:00Z","previous":"%064d","who":{"token":"ci"},"event":"image-read","image":"9f86","file":"boot.iso","ranges":[[0,100]],"hash":"%064d"}\n' 0 0 > "$1/any"
  printf '\x01\x10\x01x' > "$1/changed"
  printf '\x02{"sequence":2,' > "$1/torn"
}

seed_openpgp() {
  { printf '\x00'; cat server/src/bases/openpgp/coreos-keys.asc; printf '\x00\x00'; } > "$1/armored"
  # Without the armor, where a fuzzer gets further.
  awk '/^-----BEGIN/ { body = 1; next } /^-----END|^=/ { body = 0 } body && NF && !/:/' server/src/bases/openpgp/coreos-keys.asc \
    | base64 -d 2> /dev/null | { printf '\x00'; cat; } > "$1/binary" || true
}

seed_stream_metadata() {
  {
    printf '{"stream":"stable","architectures":{"x86_64":{"artifacts":{"metal":{"release":"44","formats":{"iso":{"disk":'
    printf '{"location":"https://a.example/live.iso","signature":"https://a.example/live.iso.sig","sha256":"%064d"}}}}}}}}' 0
  } > "$1/stream"
}

seed_events() {
  printf '\x05: still here\n\nevent: boot\nid: 7\ndata: {"a": 1}\n\nid: 8\r\ndata: {}\r\n\r\nid: 9\ndata: {' > "$1/stream"
}

seed_media_requests() {
  local path=/i/abcdefghijklmnopqrstuvwxyz/one.iso
  printf 'GET %s HTTP/1.1\r\nHost: a\r\n\r\nHEAD %s HTTP/1.1\r\nHost: a\r\n\r\n' "$path" "$path" > "$1/two"
  printf 'GET %s HTTP/1.1\r\nHost: a\r\nRange: bytes=0-3,5-6\r\nIf-Range: "1"\r\n\r\n' "$path" > "$1/ranges"
  printf 'GET /h/abcdefghijklmnopqrstuvwxyz HTTP/1.1\r\nHost: a\r\nUser-Agent: curl\r\n\r\n' > "$1/call"
  printf 'POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET %s HTTP/1.1\r\nHost: a\r\n\r\n' "$path" "$path" > "$1/body"
}

seed_range() {
  printf '\x00\x10\x00\x00\x00\x00\x00\x00bytes=0-99,200-299,-5' > "$1/several"
}

# Requests in JSON, with every member, each behind bytes that say who reads it, which value gets a secret, and in what form.
seed_orders() {
  python3 - "$1" << 'EOF'
import base64, json, pathlib, sys
text = base64.b64encode(b"#cloud-config\n").decode()
sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1wVd0KqKpJOmGwzjeqWKLGu7dSDPnzcDnFoSDCuKw5 a@b"
nmstate = {"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up", "ipv4": {"enabled": True, "dhcp": True}}]}
ignition = {"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": "core", "passwordHash": "x"}]},
            "storage": {"files": [{"path": "/etc/x", "contents": {"source": "data:,x"}}]},
            "systemd": {"units": [{"name": "a.service", "contents": "[Unit]"}]}}
image = {"base": "coreos", "documents": json.dumps(nmstate)}
more = [
    {"format": "usb", "host": "worker-0", "auto_default": True, "boot_entries": ["Fedora"], "profile": "dracut"},
    {"hosts": "all", "replace_embedded": True, "ttl": 14400, "max_reads": 2, "only_from": ["192.0.2.0/24", "2001:db8::1"]},
    {"hostname": "worker-0", "ssh_authorized_keys": [key], "ignition": ignition},
    {"files": [{"path": "/etc/motd", "mode": "0600", "user": 1, "group": 2, "contents": "aGVsbG8K"}],
     "units": [{"name": "a.service", "enabled": True, "contents": "[Service]\nExecStart=/bin/true\n"}]},
    {"kernel_arguments": {"append": ["console=ttyS0"], "delete": ["mitigations=auto,nosmt"], "replace": ["id=metal=qemu"]}},
    {"answers": {"kind": "preseed", "text": "d-i passwd/root-password password x\n"}},
    {"format": "minimal-iso", "rootfs_url": "http://192.0.2.10/rootfs.img"},
    {"documents": [{"name": "a.yaml", "text": "a: 1"}, {"name": "b/c.nmconnection", "data": "/wA="}]},
]
images = [image | members for members in more]
images.append({"base": "coreos", "nmstate": nmstate})
drive = {"kind": "config-2", "file_system": "vfat", "network_data": text, "meta_data": text, "user_data": text,
         "vendor_data": text, "publisher": "me"}
images.append({"base": "coreos", "x" * 6000: 1})
images += [{"format": "data", "data": drive}, {"nmstate": nmstate, "data": {"kind": "combustion"}}]
bmc = {"address": "redfish-virtualmedia://192.0.2.200/redfish/v1/Systems/1", "credentials": "worker-0-bmc",
       "disable_certificate_verification": True}
settings = {"method": "http", "firmware_interface": "NIC.Integrated.1-1-1", "bmc": bmc, "wait_for": ["call-home", "reachable"],
            "booted_within": 1800, "shutdown_within": 60, "eject": "when-booted", "power_off": True, "ignore_secure_boot": True}
boots = [image | settings, {"image": sha256, "host": "worker-0", "documents": "a: 1"} | settings]
url = "https://images.example.com/live.iso"
signed = {"url": url + "?key=x", "signature": url + ".sig", "sha256": sha256}
bases = [{"name": "fcos", "profile": "coreos", "iso": signed}, {"name": "fcos", "iso": {"path": "/srv/live.iso"}},
         {"name": "a", "kernel": {"path": "/k"}, "initrd": {"path": "/i", "signature": "/i.sig"}, "rootfs": signed,
          "esp": signed, "bios-loader": signed, "bios-loader-core": signed, "bios-boot-code": signed}]
for kind, requests in enumerate((images, boots, bases)):
    for number, request in enumerate(requests):
        body = json.dumps(request, indent=2 if number % 2 else None).encode()
        for form in range(4):
            pathlib.Path(sys.argv[1], f"{kind}-{number}-{form}").write_bytes(bytes([kind, 5 * form, 2 * form]) + body)
EOF
}

# The settings that packaging and the documentation have, and a file of the API's clients, each behind a byte that says who reads it.
# The word SECRET becomes a secret.
seed_settings() {
  local number=0 url
  { printf '\x00'; sed -n 's/^#\([a-z-]*:.*\|- .*\|  [a-z]*: .*\)/\1/p' packaging/dayone.yaml; } > "$1/serve"
  {
    printf '\x01namespace: metal3\nmetrics-addr: ":8080"\nkey-secret: metal3/dayone-key\ncompatibility: strict\nconcurrency: 8\n'
    printf 'images-bind-addr: ":8084"\nimages-publish-addr: http://192.0.2.10:8084\ndeploy-iso: /shared/ipa.iso\n'
    printf 'ironic-base-url: https://192.0.2.10:6385\nhttps-proxy: SECRET\nno-proxy: localhost\nip-options: ip=dhcp\n'
  } > "$1/controller"
  printf '\x02nmstate-dir: /nmstate\ndrain-seconds: 60\nlog-format: json\nlog: info\nhttp-proxy: "SECRET"\n' > "$1/static-server"
  while read -r url; do
    printf '\x00%s\n' "$url" > "$1/serve-secret-$number"
    printf '\x01%s\n' "$url" > "$1/controller-secret-$number"
    number=$((number + 1))
  done << 'EOF'
media-url: SECRET
base-source: [SECRET, "a,SECRET"]
bmc-network: "192.0.2.0/24,SECRET"
api-listen: SECRET
log-format: SECRET
data-dir: SECRET
bmc-credentials: "007"
bases: [SECRET, "a=SECRET", "a=kernel:SECRET,initrd:/i", "a=kernel:/k,SECRET"]
bases: [{name: a, iso: SECRET}, {name: SECRET, iso: /a}, {name: b, iso: /b, profile: SECRET}]
images-bind-addr: SECRET
metrics-addr: SECRET
key-secret: SECRET
concurrency: SECRET
compatibility: SECRET
api-token: SECRET
unknown: SECRET
SECRET: unknown
EOF
  {
    printf '\x03clients:\n- name: dashboard\n  role: read\n'
    printf '  token-sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n'
    printf -- '- {name: ci, role: build, token: SECRET}\n- {name: ops, role: boot, certificate: ops.example}\n'
  } > "$1/clients"
}
