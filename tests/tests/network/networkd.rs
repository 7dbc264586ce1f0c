//! Units of systemd-networkd, shown to systemd-networkd itself: in a network namespace, where it only reads them, and in
//! a machine, where it makes the network of them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use acceptance::peers::{cache, run};
use hosts::network::networkd::unmentioned;
use hosts::network::{NetworkFiles, NetworkdUnit, Target, convert_network};
use serde_json::Value;
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// The units of every document of `fixtures/` that has any, by its name.
fn cases() -> BTreeMap<String, Vec<NetworkdUnit>> {
    let mut cases = BTreeMap::new();
    for directory in ["nmstate", "networkd"] {
        for entry in fs::read_dir(fixtures().join(directory)).unwrap() {
            let case = entry.unwrap();
            let Ok(text) = fs::read_to_string(case.path().join("nmstate.yaml")) else { continue };
            let boot_mac = fs::read_to_string(case.path().join("boot-mac")).ok();
            let host = HostSpec {
                boot_mac: boot_mac.map(|mac| mac.trim().parse().unwrap()),
                ..HostSpec::with_network(NmstateDocument::new(
                    serde_yaml::from_str(&text).unwrap(),
                    DocumentPath::root(),
                ))
            };
            let target = Target { files: NetworkFiles::NetworkdUnits, ..Target::default() };
            if let Some(units) = convert_network(&host, target).0 {
                cases.insert(case.file_name().into_string().unwrap(), units.networkd_units);
            }
        }
    }
    assert!(cases.len() > 20, "{}", cases.len());
    cases
}

fn write(units: &[NetworkdUnit], directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    for unit in units {
        fs::write(directory.join(unit.name.as_str()), &unit.content).unwrap();
    }
}

/// Starts networkd in namespaces of its own with the units in `/run/systemd/network`. The directory becomes `/run`;
/// networkd gives up root for a user who is root as well here, the only one there is in the namespace.
const START: &str = r#"
set -e
mount --bind "$1" /run
printf 'root:x:0:0::/:/bin/sh\nsystemd-network:x:0:0::/:/bin/sh\n' > /run/passwd
mount --bind /run/passwd /etc/passwd
mount -t sysfs -o ro sysfs /sys
export LD_LIBRARY_PATH="$2/usr/lib/x86_64-linux-gnu/systemd:$2/usr/lib/x86_64-linux-gnu"
SYSTEMD_LOG_COLOR=0 SYSTEMD_LOG_TARGET=console SYSTEMD_LOG_LEVEL=debug exec "$2/lib/systemd/systemd-networkd"
"#;

/// What networkd says about units while it reads them.
fn log_of(units: &[NetworkdUnit]) -> Vec<String> {
    let run_directory = tempfile::tempdir().unwrap();
    write(units, &run_directory.path().join("systemd/network"));
    let networkd = cache().join("networkd");
    assert!(networkd.exists(), "{} is missing; run scripts/setup-peers.sh", networkd.display());
    let mut child = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--mount", "--kill-child", "--pid", "--fork"])
        .args(["sh", "-c", START, "sh"])
        .args([run_directory.path(), &networkd])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        let read = line.contains("Enumeration completed");
        log.push(line);
        if read {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(log.last().is_some_and(|line| line.contains("Enumeration completed")), "{}", log.join("\n"));
    log
}

/// What networkd did not understand, or did not like. Every complaint about a file begins with its path.
fn complaints(log: &[String]) -> Vec<&String> {
    log.iter().filter(|line| line.starts_with("/run/systemd/network/") || line.contains("gnoring file")).collect()
}

#[test]
fn networkd_understands_every_unit() {
    let mut wrong = Vec::new();
    for (case, mut units) in cases() {
        units.extend(unmentioned());
        let log = log_of(&units);
        for unit in units.iter().filter(|unit| unit.name.as_str().ends_with(".netdev")) {
            let name = unit.content.lines().find_map(|line| line.strip_prefix("Name=")).unwrap();
            if !log.iter().any(|line| line.starts_with(&format!("{name}: loaded "))) {
                wrong.push(format!("{case}: {} is not loaded:\n{}", unit.name, log.join("\n")));
            }
        }
        wrong.extend(complaints(&log).iter().map(|line| format!("{case}: {line}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The test above can fail.
#[test]
fn networkd_complains_about_what_it_does_not_understand() {
    let unit = |content: &str| NetworkdUnit { name: "10-x.network".parse().unwrap(), content: content.to_owned() };
    for bad in ["[Match]\nName=x\n[Network]\nSurplus=yes\n", "[Match]\nName=x\n[Network]\nDHCP=perhaps\n", "[X]\nY=z\n"]
    {
        assert_ne!(complaints(&log_of(&[unit(bad)])), Vec::<&String>::new(), "{bad}");
    }
}

/// What a machine says about itself on its serial console.
struct Machine(String);

impl Machine {
    fn says(&self, what: &str) -> &str {
        let (_, rest) =
            self.0.split_once(&format!("BEGIN {what}\n")).unwrap_or_else(|| panic!("no {what}: {}", self.0));
        rest.split_once(&format!("END {what}")).unwrap().0
    }

    fn list(&self, what: &str) -> Vec<Value> {
        serde_json::from_str(self.says(what)).unwrap_or_else(|error| panic!("{what}: {error}: {}", self.says(what)))
    }

    fn interface(&self, name: &str) -> Value {
        let found = self.list("addresses").into_iter().find(|interface| interface["ifname"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {}", self.says("addresses")))
    }

    /// The addresses of an interface but the kernel's own, as `192.0.2.1/24`.
    fn addresses(&self, name: &str) -> Vec<String> {
        let interface = self.interface(name);
        let addresses = interface["addr_info"].as_array().unwrap().iter();
        let mut found: Vec<_> = addresses
            .filter(|address| address["scope"] != "link")
            .map(|address| format!("{}/{}", address["local"].as_str().unwrap(), address["prefixlen"]))
            .collect();
        found.sort();
        found
    }

    fn setting(&self, what: &str, file: &str) -> &str {
        let line = self.says(what).lines().find_map(|line| line.strip_prefix(&format!("/sys/class/net/{file}:")));
        line.unwrap_or_else(|| panic!("no {file}"))
    }

    /// Whether there is a route (or a rule) of which all of this is said.
    fn has(&self, what: &str, wanted: &Value) -> bool {
        let wanted = wanted.as_object().unwrap();
        self.list(what).iter().any(|found| wanted.iter().all(|(key, value)| found[key] == *value))
    }
}

/// Boots the ramdisk with six NICs on networks of their own, and one on a network with DHCP and router advertisements.
fn boot(ramdisk: &Path) -> Machine {
    let mut machine = Command::new("timeout");
    machine.args(["300", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-m", "768", "-nographic", "-nodefaults"]);
    machine.args(["-no-reboot", "-serial", "stdio"]);
    machine.args(["-append", "console=ttyS0 panic=-1 loglevel=4 net.ifnames=0"]);
    machine.arg("-kernel").arg(cache().join("kernel/vmlinuz")).arg("-initrd").arg(ramdisk);
    let mut nic = |network: &str, number: usize| {
        let netdev = format!("{network},id=network{number}");
        let device = format!("virtio-net-pci,netdev=network{number},mac=52:54:00:aa:00:{number:02x},romfile=");
        machine.args(["-netdev", &netdev, "-device", &format!("{device},addr={:#x}", number + 3)]);
    };
    for number in 0..6 {
        nic(&format!("hubport,hubid={number}"), number);
    }
    nic("user,restrict=on", 7);
    Machine(String::from_utf8_lossy(&run(machine.stdin(Stdio::null()))).replace('\r', ""))
}

/// Everything of `fixtures/networkd/host-with-everything`, as the kernel has it in the end.
#[test]
fn a_machine_gets_the_network_of_its_document() {
    let directory = tempfile::tempdir().unwrap();
    let mut units = cases().remove("host-with-everything").unwrap();
    units.extend(unmentioned());
    write(&units, &directory.path().join("units"));
    let ramdisk = directory.path().join("ramdisk.img");
    let script = fixtures().join("bases/make-networkd-ramdisk.sh");
    run(Command::new(script).arg(directory.path().join("units")).arg(&ramdisk));
    let machine = boot(&ramdisk);
    let log = machine.says("log");
    assert_eq!(machine.says("online").trim(), "0", "{log}");
    let bad = ["Failed", "Could not", "nvalid", "nknown", "gnoring"];
    let complaints: Vec<_> = log.lines().filter(|line| bad.iter().any(|word| line.contains(word))).collect();
    assert_eq!(complaints, Vec::<&str>::new(), "{log}");

    check_links(&machine);
    check_addresses(&machine);
    check_routes(&machine);
}

fn check_links(machine: &Machine) {
    for (port, controller) in
        [("eth0", "bond0"), ("eth1", "bond0"), ("eth2", "br0"), ("bond0.200", "br0"), ("eth3", "vrf0")]
    {
        assert_eq!(machine.interface(port)["master"], controller, "{port}");
    }
    for (name, mtu) in [("eth0", 9000), ("eth1", 9000), ("bond0", 9000), ("bond0.100", 1500), ("br0", 1500)] {
        assert_eq!(machine.interface(name)["mtu"], mtu, "{name}");
    }
    for (file, value) in [
        ("mode", "active-backup 1"),
        ("miimon", "140"),
        ("updelay", "280"),
        ("downdelay", "140"),
        ("primary", "eth0"),
        ("active_slave", "eth0"),
        ("primary_reselect", "better 1"),
        ("fail_over_mac", "none 0"),
    ] {
        assert_eq!(machine.setting("bonds", &format!("bond0/bonding/{file}")), value, "{file}");
    }
    for (file, value) in [
        // The kernel would refuse these bonds with the options that have no effect.
        ("bond1/bonding/mode", "802.3ad 4"),
        ("bond2/bonding/mode", "active-backup 1"),
        ("bond2/bonding/miimon", "100"),
        ("bond2/bonding/arp_validate", "none 0"),
        ("bond3/bonding/arp_interval", "200"),
        ("bond3/bonding/arp_validate", "active 1"),
    ] {
        assert_eq!(machine.setting("bonds", file), value, "{file}");
    }
    // Its address is that of a port, not a made-up one.
    let mac = machine.interface("bond0")["address"].as_str().unwrap().to_owned();
    assert!(["52:54:00:aa:00:00", "52:54:00:aa:00:01"].contains(&mac.as_str()), "{mac}");
    for (file, value) in [
        ("br0/bridge/stp_state", "1"),
        ("br0/bridge/forward_delay", "400"),
        ("br0/bridge/priority", "4096"),
        ("eth2/brport/path_cost", "7"),
        ("eth2/brport/priority", "16"),
        ("bond0.200/brport/path_cost", "100"),
    ] {
        assert_eq!(machine.setting("bridges", file), value, "{file}");
    }
    // While the tree changes the kernel has twice the forward delay instead of the 120 seconds.
    let ageing = machine.setting("bridges", "br0/bridge/ageing_time");
    assert!(["12000", "800"].contains(&ageing), "{ageing}");
    assert_eq!(machine.interface("br0")["address"], "02:00:00:00:00:42");
    for (name, id, protocol) in [("bond0.100", 100, "802.1Q"), ("bond0.200", 200, "802.1ad")] {
        let vlan = machine.interface(name);
        assert_eq!(vlan["link"], "bond0");
        assert_eq!(vlan["linkinfo"]["info_data"]["id"], id);
        assert_eq!(vlan["linkinfo"]["info_data"]["protocol"], protocol);
    }
    assert_eq!(machine.interface("vrf0")["linkinfo"]["info_data"]["table"], 500);
    // One is down, one is not mentioned; the image's own unit would have started DHCP on both.
    for name in ["eth4", "eth5"] {
        let interface = machine.interface(name);
        assert!(!interface["flags"].as_array().unwrap().contains(&"UP".into()), "{interface}");
    }
}

fn check_addresses(machine: &Machine) {
    let expected: [(&str, &[&str]); 10] = [
        ("bond0.100", &["192.0.2.10/24", "192.0.2.11/32", "2001:db8:100::10/64"]),
        ("br0", &["198.51.100.10/25"]),
        ("dummy0", &["203.0.113.1/32"]),
        ("eth3", &["10.30.0.2/24"]),
        ("eth6", &["10.0.2.15/24", "fec0::abcd/64"]),
        ("bond0", &[]),
        ("bond0.200", &[]),
        ("eth0", &[]),
        ("eth4", &[]),
        ("eth5", &[]),
    ];
    for (name, addresses) in expected {
        assert_eq!(machine.addresses(name), addresses, "{name}");
    }
    // Link-local addresses are where IPv6 is, and made of the MAC address.
    for name in ["bond0.100", "eth6"] {
        let interface = machine.interface(name);
        let local = interface["addr_info"].as_array().unwrap().iter().find(|address| address["scope"] == "link");
        let local: IpAddr = local.unwrap()["local"].as_str().unwrap().parse().unwrap();
        let IpAddr::V6(local) = local else { panic!("{local}") };
        let mac = interface["address"].as_str().unwrap();
        assert!(
            local.to_string().ends_with(&mac[mac.len() - 1..]) && local.octets()[11..13] == [0xff, 0xfe],
            "{local}"
        );
    }
    for name in ["br0", "bond0", "eth2", "eth3", "dummy0"] {
        let interface = machine.interface(name);
        let has_v6 = interface["addr_info"].as_array().unwrap().iter().any(|address| address["family"] == "inet6");
        assert!(!has_v6, "{interface}");
    }
    let links = machine.says("links");
    for line in ["DNS=192.0.2.53 2001:db8:53::53", "DNS=198.51.100.53", "DOMAINS=example.com lab.example.com"] {
        assert!(links.contains(line), "{line}: {links}");
    }
    assert!(!links.contains("10.0.2.3"), "{links}");
}

fn check_routes(machine: &Machine) {
    let routes = [
        r#"{"dst": "default", "gateway": "192.0.2.1", "dev": "bond0.100", "metric": null}"#,
        r#"{"dst": "192.0.2.0/24", "dev": "bond0.100", "metric": 400}"#,
        r#"{"dst": "198.51.100.0/25", "dev": "br0", "metric": 77}"#,
        r#"{"dst": "10.1.0.0/16", "gateway": "198.51.100.1", "dev": "br0", "metric": 150, "metrics": [{"mtu": 1400}]}"#,
        r#"{"dst": "10.2.0.0/16", "gateway": "198.51.100.200", "dev": "br0", "table": "200"}"#,
        r#"{"dst": "10.3.0.0/16", "dev": "br0", "prefsrc": "198.51.100.10", "scope": "link"}"#,
        r#"{"dst": "10.30.99.0/24", "gateway": "10.30.0.1", "dev": "eth3", "table": "500"}"#,
        r#"{"dst": "10.66.0.0/16", "type": "blackhole"}"#,
        r#"{"dst": "10.0.2.0/24", "dev": "eth6", "metric": 321}"#,
    ];
    let routes6 = [
        r#"{"dst": "default", "gateway": "fe80::1", "dev": "bond0.100", "metric": 50}"#,
        r#"{"dst": "default", "gateway": "fe80::2", "dev": "eth6", "metric": 100, "protocol": "ra"}"#,
        r#"{"dst": "2001:db8:100::/64", "dev": "bond0.100", "metric": 400}"#,
    ];
    let rules = [
        r#"{"priority": 1000, "src": "198.51.100.0", "srclen": 25, "table": "200"}"#,
        r#"{"priority": 1001, "dst": "10.9.0.0", "dstlen": 16, "action": "prohibit"}"#,
        r#"{"priority": 30000, "src": "10.8.0.0", "fwmark": "0x10", "fwmask": "0xff", "iif": "br0", "table": "200"}"#,
    ];
    let rules6 = [r#"{"priority": 1003, "src": "all", "table": "main", "suppress_prefixlen": 0}"#];
    let wanted: [(&str, &[&str]); 4] =
        [("routes", &routes), ("routes6", &routes6), ("rules", &rules), ("rules6", &rules6)];
    for (what, all) in wanted {
        for one in all {
            assert!(machine.has(what, &serde_json::from_str(one).unwrap()), "{one} is not in {}", machine.says(what));
        }
    }
}
