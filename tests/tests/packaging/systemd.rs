//! The unit under a real systemd, which is process 1 of namespaces of its own: everything that the unit forbids is forbidden, and
//! the server does its work. The namespaces need root.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::packaging::make_install;
use acceptance::server::dayone;

/// Makes `$1` the root of a small system that has the programs of this one, and becomes its systemd. Mounts are shared, as systemd has
/// them on a machine: credentials reach services by mounts.
const ENTER: &str = r#"set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mkdir -p usr proc sys dev run tmp old
for directory in bin sbin lib lib64; do ln -s "usr/$directory" "$directory"; done
mount --rbind /usr usr
mount -o remount,bind,ro usr
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
ip link set lo up
pivot_root . old
umount -l /old
mount --make-rshared /
exec env -i container=other PATH=/usr/bin:/usr/sbin /usr/lib/systemd/systemd --unit=test.service --show-status=no"#;

/// What the system does when it is up.
const TEST: &str = "[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/bash /srv/test
ExecStopPost=/bin/systemctl poweroff -ff
StandardOutput=file:/srv/output
StandardError=file:/srv/errors
";

/// Runs a script in a system with the unit and these settings, and returns what it prints.
fn in_a_system(settings: &str, secrets: &str, script: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let (prefix, unit_dir) = (Path::new("/opt/dayone"), Path::new("/etc/systemd/system"));
    fs::create_dir_all(root.join("etc/dayone")).unwrap();
    fs::create_dir_all(root.join("srv")).unwrap();
    // `mktemp` lets only its owner in, and the server has a user of its own.
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(root.join("etc/dayone/dayone.yaml"), settings).unwrap();
    fs::write(root.join("etc/dayone/dayone.env"), secrets).unwrap();
    fs::set_permissions(root.join("etc/dayone/dayone.env"), fs::Permissions::from_mode(0o600)).unwrap();
    let variables = [("DESTDIR", root), ("PREFIX", prefix), ("UNITDIR", unit_dir)];
    make_install(Path::new(dayone().get_program()), &variables);
    for (path, content) in [
        ("etc/passwd", "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"),
        ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
        ("etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
        ("etc/os-release", ""),
        ("etc/systemd/system/test.service", TEST),
        ("srv/test", script),
    ] {
        fs::write(root.join(path), content).unwrap();
    }
    fs::copy(coreos_iso(&[]), root.join("srv/coreos.iso")).unwrap();
    fs::set_permissions(root.join("srv/coreos.iso"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::copy(fixtures("scenarios/static-ipv4-baremetalhost.yaml"), root.join("srv/host.yaml")).unwrap();

    let mut system = Command::new("timeout");
    system.args(["--kill-after=5", "120", "unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc"]);
    let output = system.args(["--net", "--cgroup", "bash", "-c", ENTER, "bash"]).arg(root).output().unwrap();
    fs::read_to_string(root.join("srv/output")).unwrap_or_else(|error| {
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!("the system did not come up ({error}, {}): {errors}", output.status);
    }) + &fs::read_to_string(root.join("srv/errors")).unwrap_or_default()
}

#[test]
fn the_server_does_its_work_within_its_limits() {
    let settings = "media-url: http://127.0.0.1:8081\nbases:\n- name: coreos\n  iso: /srv/coreos.iso\n";
    let shown = in_a_system(
        settings,
        "DAYONE_API_TOKEN=0123456789abcdef\n",
        r#"systemctl start dayone.service && echo "started: $(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/readyz)"
process=$(systemctl show --value -p MainPID dayone.service)
post() {
  curl -s --data-binary @/srv/host.yaml -H 'Content-Type: application/yaml' "$@" \
    'http://127.0.0.1:8080/v1/images?base=coreos&format=iso'
}
echo "without a token: $(post -o /dev/null -w '%{http_code}')"
url=$(post -H 'Authorization: Bearer 0123456789abcdef' | jq -r .url)
echo "image: $(curl -s "$url" | wc -c)"
echo "limits: $(grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/$process/status | tr '\t\n' ' ')"
echo "files: $(sed -n 's/^Max open files *//p' /proc/$process/limits)"
echo "data: $(stat -L -c '%a %u' /var/lib/dayone) of $(stat -c %u /proc/$process)"
systemctl restart dayone.service
echo "again: $(curl -s "$url" | wc -c)"
systemctl reload dayone.service && echo "reloaded"
systemctl stop dayone.service
echo "stopped: $(systemctl show --value -p Result dayone.service)"
"#,
    );
    let said = |name: &str| {
        let line = shown.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("{name} is missing:\n{shown}")).to_owned()
    };
    // `systemctl start` returns when the server answers.
    assert_eq!(said("started"), "200");
    assert_eq!(said("without a token"), "401");
    let size = fs::metadata(coreos_iso(&[])).unwrap().len().to_string();
    assert_eq!((said("image"), said("again")), (size.clone(), size));
    assert_eq!(said("limits").trim(), "CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 2");
    assert!(said("files").starts_with("16384 "), "{shown}");
    let data = said("data");
    let (owner, user) = data.strip_prefix("700 ").unwrap().split_once(" of ").unwrap();
    assert!(owner == user && user != "0", "{data}");
    assert!(shown.contains("\nreloaded\n"), "{shown}");
    assert_eq!(said("stopped"), "success");
}

/// What `docs/how-to/encrypt-the-data-directory.md` says: the key is a credential, in plain text or encrypted with a secret of the
/// machine.
#[test]
fn a_credential_of_the_service_encrypts_the_data_directory() {
    let settings = "media-url: http://127.0.0.1:8081\nbases:\n- name: coreos\n  iso: /srv/coreos.iso\n\
                    data-key-file: /run/credentials/dayone.service/data.key\n";
    let shown = in_a_system(
        settings,
        "",
        r#"umask 077
printf '%064d\n' 7 > /etc/dayone/data.key
mkdir -p /etc/systemd/system/dayone.service.d /etc/credstore.encrypted
with() {
  printf '[Service]\n%s\n' "$1" > /etc/systemd/system/dayone.service.d/key.conf
  systemctl daemon-reload
  systemctl restart dayone.service
}
with LoadCredential=data.key:/etc/dayone/data.key
url=$(curl -s --data-binary @/srv/host.yaml -H 'Content-Type: application/yaml' 'http://127.0.0.1:8080/v1/images?base=coreos&format=iso' | jq -r .url)
echo "record: $(head -c 26 /var/lib/dayone/images/*.json)"
echo "key: $(head -c 26 /var/lib/dayone/key)"
systemd-creds encrypt --with-key=host --name=data.key /etc/dayone/data.key /etc/credstore.encrypted/data.key
rm /etc/dayone/data.key
with LoadCredentialEncrypted=data.key
echo "encrypted: $(curl -s "$url" | wc -c)"
"#,
    );
    let said = |name: &str| {
        let line = shown.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("{name} is missing:\n{shown}")).to_owned()
    };
    for file in ["record", "key"] {
        assert_eq!(said(file), r#"{"version":3,"encrypted":""#, "{shown}");
    }
    assert_eq!(said("encrypted"), fs::metadata(coreos_iso(&[])).unwrap().len().to_string(), "{shown}");
}

/// What `docs/install.md` says of files that are for root alone: they reach the service as credentials, of which a reload sees no newer
/// content; and the check has the variables of the service, as systemd reads them: a shell would run a part of this token as root.
#[test]
fn files_for_root_alone_are_credentials_of_the_service() {
    let settings = "media-url: http://127.0.0.1:8081\nbases:\n- name: coreos\n  iso: /srv/coreos.iso\napi-listen: 0.0.0.0:8080\n\
                    api-clients: /run/credentials/dayone.service/clients.yaml\n\
                    bmc-credentials: /run/credentials/dayone.service/bmc\n";
    let shown = in_a_system(
        settings,
        "DAYONE_API_TOKEN=0123456789abcdef$(touch${IFS}/srv/ran)\n",
        r#"PATH=/opt/dayone/bin:$PATH
# systemd-run talks to systemd through a bus.
bus=/etc/systemd/system/dbus
printf '[Unit]\nDefaultDependencies=no\n[Socket]\nListenStream=/run/dbus/system_bus_socket\n' > $bus.socket
printf '[Unit]\nDefaultDependencies=no\nRequires=dbus.socket\n[Service]\nType=notify\nExecStart=%s\n' \
  '/usr/bin/dbus-daemon --system --address=systemd: --nofork --nopidfile' > $bus.service
mkdir -p /var/lib
umask 077
mkdir -p /etc/dayone/bmc/worker-0 /etc/systemd/system/dayone.service.d
echo admin > /etc/dayone/bmc/worker-0/username
echo calvin > /etc/dayone/bmc/worker-0/password
client() { printf 'clients:\n- {name: dashboard, role: boot, token: %s}\n' "$1" > /etc/dayone/clients.yaml; }
client first-token-of-the-dashboard
printf '[Service]\nLoadCredential=%s\nLoadCredential=%s\n' clients.yaml:/etc/dayone/clients.yaml bmc:/etc/dayone/bmc \
  > /etc/systemd/system/dayone.service.d/credentials.conf
systemctl daemon-reload
dayone config check > /srv/before || true
echo "before the start: $(grep -c '\[service-credential\]' /srv/before), $(grep -o 'no errors' /srv/before)"
dayone config check -- --media-listen '[::]:8080' > /srv/before || true
echo "other mistakes: $(grep -o 'same-address' /srv/before)"
systemctl start dayone.service && echo "started: yes"
echo "while it runs: $(dayone config check | grep -c 'service-credential')"
status() { curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" http://127.0.0.1:8080/v1/images; }
echo "first: $(status first-token-of-the-dashboard)"
sed '/^api-clients/d' /etc/dayone/dayone.yaml > /srv/without-clients.yaml
echo "without the variables: $(dayone config check /srv/without-clients.yaml | grep -c '\[open-api\]')"
systemctl start dbus.service
echo "with the variables: $(systemd-run --pipe --wait --collect --quiet -p EnvironmentFile=/etc/dayone/dayone.env \
  dayone config check /srv/without-clients.yaml | grep -o 'no errors')"
echo "token: $(status '0123456789abcdef$(touch${IFS}/srv/ran)')"
echo "ran: $(ls /srv/ran 2> /dev/null)"
client other-token-of-the-dashboard
systemctl reload dayone.service
sleep 1
echo "reloaded: $(status first-token-of-the-dashboard)"
systemctl restart dayone
echo "restarted: $(status first-token-of-the-dashboard) $(status other-token-of-the-dashboard)"
# The token is in dayone.env alone now.
cp /srv/without-clients.yaml /etc/dayone/dayone.yaml
echo "hint: $(dayone config check | grep -c 'if /etc/dayone/dayone.env has the token')"
doctor=$(systemd-run --pipe --wait --collect --quiet -p EnvironmentFile=/etc/dayone/dayone.env dayone doctor --self --slow 1)
echo "doctor: $(grep -c 'which server answers' <<< "$doctor") $(grep -c '^fails' <<< "$doctor")"
"#,
    );
    for line in [
        "before the start: 2, no errors",
        "other mistakes: same-address",
        "started: yes",
        "while it runs: 0",
        "first: 200",
        "without the variables: 1",
        "with the variables: no errors",
        "token: 200",
        "ran: ",
        "reloaded: 200",
        "restarted: 401 200",
        "hint: 1",
        "doctor: 1 0",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line} is not in\n{shown}");
    }
}

#[test]
fn a_server_with_wrong_settings_is_started_once() {
    let shown = in_a_system(
        "bases: []\n",
        "",
        r#"systemctl start dayone.service || true
sleep 3
systemctl show -p ActiveState -p NRestarts -p ExecMainStatus dayone.service
"#,
    );
    for line in ["ActiveState=failed", "NRestarts=0", "ExecMainStatus=2"] {
        assert!(shown.lines().any(|shown| shown == line), "{line} is not in\n{shown}");
    }
}

/// What is wrong with a file that the settings name may be put right without the server: systemd tries again. The check tells it.
#[test]
fn a_server_starts_when_a_base_that_it_does_not_see_has_another_place() {
    let shown = in_a_system(
        "media-url: http://127.0.0.1:8081\nbases:\n- name: coreos\n  iso: /srv/live.iso\n",
        "",
        r#"PATH=/opt/dayone/bin:$PATH
cp /srv/coreos.iso /tmp/coreos.iso
ln -s /tmp/coreos.iso /srv/live.iso
echo "hidden: $(dayone config check | grep -c 'the service does not see the files in /tmp \[base-closed\]')"
systemctl start dayone.service || echo "started: no"
sleep 3
systemctl show -p NRestarts dayone.service
ln -sf coreos.iso /srv/live.iso
echo "read-only: $(dayone config check -- --audit-log /srv/audit.jsonl | grep -c 'service-read-only')"
echo "read-only: $(dayone config check | grep -c 'service-read-only')"
echo "too long: $(dayone config check -- --drain-seconds 120 | grep -c 'kills the service after 30 s')"
echo "too long: $(dayone config check | grep -c 'kills the service')"
echo "low ports: $(dayone config check -- --media-listen 0.0.0.0:80 --api-listen 127.0.0.1:443 | grep -c 'service-port')"
echo "low ports: $(dayone config check | grep -c 'service-port')"
echo "hidden: $(dayone config check | grep -c 'base-closed')"
for _ in {1..20}; do systemctl is-active --quiet dayone.service && break; sleep 1; done
systemctl show -p ActiveState dayone.service
# As docs/install.md has it.
mkdir /etc/systemd/system/dayone.service.d
printf '%s\n' '[Service]' AmbientCapabilities=CAP_NET_BIND_SERVICE CapabilityBoundingSet=CAP_NET_BIND_SERVICE PrivateUsers=no \
  > /etc/systemd/system/dayone.service.d/ports.conf
echo 'api-listen: 127.0.0.1:443' >> /etc/dayone/dayone.yaml
systemctl daemon-reload
systemctl restart dayone.service
echo "low port: $(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:443/readyz)"
mkdir -m 0700 /srv/dayone-data
printf '%s\n' '[Service]' ReadWritePaths=/srv/dayone-data > /etc/systemd/system/dayone.service.d/data.conf
echo 'data-dir: /srv/dayone-data' >> /etc/dayone/dayone.yaml
systemctl daemon-reload
chown --reference=/var/lib/private/dayone /srv/dayone-data
systemctl restart dayone.service
echo "other directory: $(ls /srv/dayone-data/key)"
"#,
    );
    for line in [
        "hidden: 1",
        "started: no",
        "NRestarts=1",
        "read-only: 1",
        "read-only: 0",
        "too long: 1",
        "too long: 0",
        "low ports: 2",
        "low ports: 0",
        "hidden: 0",
        "ActiveState=active",
        "low port: 200",
        "other directory: /srv/dayone-data/key",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line} is not in\n{shown}");
    }
}

/// What `docs/install.md` says to do after a change: the unit reloads, or tells why not, and serves all the while.
#[test]
fn a_reload_takes_over_the_settings_or_none_of_them() {
    let settings = "media-url: http://127.0.0.1:8081\nbases:\n- name: coreos\n  iso: /srv/coreos.iso\n";
    let shown = in_a_system(
        settings,
        "",
        r#"PATH=/opt/dayone/bin:$PATH
status() { sleep 2; echo "$1: $(systemctl show --value -p ActiveState dayone.service) $(systemctl show --value -p StatusText dayone.service)"; }
systemctl daemon-reload
systemctl enable --now dayone
echo "ready: $(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/readyz)"
echo 'log: debug' >> /etc/dayone/dayone.yaml
dayone config check && systemctl reload dayone && echo "reload: asked"
status good
echo 'drain-secs: 1' >> /etc/dayone/dayone.yaml
dayone config check || echo "check: $?"
systemctl reload dayone
status bad
echo "still: $(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/readyz)"
sed -i '/drain-secs/d' /etc/dayone/dayone.yaml
dayone doctor --self --slow 1 > /srv/doctor || echo "doctor: $?"
echo "fails: $(grep -c '^fails' /srv/doctor)"
cat /srv/doctor
"#,
    );
    let lines: Vec<&str> = shown.lines().collect();
    for line in [
        "ready: 200",
        "/etc/dayone/dayone.yaml: no errors, 1 warning",
        "reload: asked",
        "good: active The settings were read again.",
        "    fix: did you mean drain-seconds?",
        "check: 1",
        "bad: active The settings were read again and are wrong; the old ones stay in use.",
        "still: 200",
        // Nothing tells whether a time service keeps the clock right: there is no bus.
        "doctor: 3",
        "fails: 0",
        "ok       which server answers",
    ] {
        assert!(lines.contains(&line), "{line} is not in\n{shown}");
    }
}
