//! Hosts as NetworkManager makes them of their keyfiles: all of them in one machine, each in a network namespace of its
//! own. The machine's side is `fixtures/bases/make-networkmanager-ramdisk.sh`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use hosts::network::Keyfile;
use serde_json::{Map, Value, json};

use crate::bases::networkmanager_ramdisk;
use crate::peers::run;
use crate::report::Report;
use crate::user_mode_linux::UserModeLinux;

/// What is wanted of NetworkManager.
#[derive(Debug, Clone)]
pub struct Host {
    /// What it is called here.
    pub name: String,
    /// Names and MAC addresses of its NICs.
    pub nics: BTreeMap<String, String>,
    /// VLANs on which the network offers addresses, beside the untagged one.
    pub vlans: BTreeSet<u64>,
    /// Addresses in the network, with prefix lengths, that answer.
    pub neighbours: Vec<String>,
    /// Its profiles.
    pub keyfiles: Vec<Keyfile>,
    /// How long NetworkManager may take, in seconds of a slow machine.
    pub wait: u32,
}

impl Host {
    /// A host with every NIC that the document speaks of. NICs that it knows by MAC addresses have names of their own.
    pub fn new(name: &str, document: &Value, keyfiles: Vec<Keyfile>) -> Self {
        let interfaces = || list(&document["interfaces"]);
        let mut nics = BTreeMap::new();
        for interface in interfaces().filter(|interface| is_nic(interface)) {
            let number = nics.len();
            let (name, mac) = match (text(&interface["identifier"]), text(&interface["mac-address"])) {
                ("mac-address", mac) => (format!("nic{number}"), mac.replace('-', ":").to_ascii_lowercase()),
                _ => (text(&interface["name"]).to_owned(), stand_in_mac(number)),
            };
            nics.insert(name, mac);
        }
        let mentioned = interfaces().flat_map(mentions).filter(|name| interfaces().all(|other| other["name"] != *name));
        for name in mentioned.collect::<BTreeSet<_>>() {
            let mac = stand_in_mac(nics.len());
            nics.insert(name.to_owned(), mac);
        }
        let dhcp_vlans = interfaces().filter(|interface| interface["ipv4"]["dhcp"] == true);
        let vlans = dhcp_vlans.filter_map(|interface| interface["vlan"]["id"].as_u64()).collect();
        // A bond asks these whether they are there, and is down if nobody answers.
        let targets = interfaces().map(|interface| text(&interface["link-aggregation"]["options"]["arp_ip_target"]));
        let neighbours = targets.flat_map(|targets| targets.split(',')).filter(|target| !target.is_empty());
        let neighbours = neighbours.map(|target| format!("{target}/32")).collect();
        Self { name: name.to_owned(), nics, vlans, neighbours, keyfiles, wait: 120 }
    }

    fn write(&self, directory: &Path) {
        let directory = directory.join(&self.name);
        let profiles = directory.join("system-connections");
        fs::create_dir_all(&profiles).expect("a directory");
        let lines = |lines: Vec<String>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let nics = self.nics.iter().map(|(name, mac)| format!("{name} {mac}")).collect();
        let vlans = self.vlans.iter().map(u64::to_string).collect();
        let files = [
            ("nics", lines(nics)),
            ("vlans", lines(vlans)),
            ("neighbours", lines(self.neighbours.clone())),
            ("wait", self.wait.to_string()),
        ];
        for (name, content) in files {
            fs::write(directory.join(name), content).expect("a file");
        }
        for keyfile in &self.keyfiles {
            fs::write(profiles.join(keyfile.name.to_string()), &keyfile.content).expect("a keyfile");
        }
    }
}

/// Boots the machine, and returns what has become of each host, by its name. Beside what [`Report`] has, there is `log`,
/// `online` (0 when NetworkManager said that it was done), `devices`, `vlans` (of bridges), `rules`, `features` of NICs,
/// `sysfs`, `setup` (complaints of the tools) and `offered` (what the network offered).
pub fn bring_up(hosts: &[Host]) -> BTreeMap<String, Report> {
    let directory = tempfile::tempdir().expect("a directory");
    let cases = directory.path().join("hosts");
    for host in hosts {
        host.write(&cases);
    }
    let (input, output) = (directory.path().join("hosts.tar"), directory.path().join("results.tar"));
    run(Command::new("tar").arg("-C").arg(&cases).arg("-cf").arg(&input).arg("."));
    File::create(&output).and_then(|file| file.set_len(128 << 20)).expect("a disk");

    let linux = UserModeLinux::new(&networkmanager_ramdisk(), 2048);
    let console = linux.disk(&input).writable_disk(&output).console();
    assert!(console.contains("RESULTS WRITTEN") && !console.contains("do not fit"), "{console}");
    let results = directory.path().join("results");
    fs::create_dir(&results).expect("a directory");
    run(Command::new("tar").arg("-C").arg(&results).arg("-xf").arg(&output));
    hosts.iter().map(|host| (host.name.clone(), report(host, &results.join(&host.name)))).collect()
}

fn report(host: &Host, results: &Path) -> Report {
    let mut report = Map::new();
    for file in fs::read_dir(results).unwrap_or_else(|error| panic!("{}: {error}", host.name)) {
        let file = file.expect("a file");
        let name = file.file_name().into_string().expect("text");
        let content = String::from_utf8_lossy(&fs::read(file.path()).expect("a file")).into_owned();
        let value = match name.strip_suffix(".json") {
            Some(_) => serde_json::from_str(&content).unwrap_or_else(|error| panic!("{}: {name}: {error}", host.name)),
            None => json!(content.lines().collect::<Vec<_>>()),
        };
        report.insert(name.trim_end_matches(".json").to_owned(), value);
    }
    report.insert("nics".to_owned(), json!(host.nics.keys().collect::<Vec<_>>()));
    let offered = json!({
        "ipv4": "10.99.0.53",
        "ipv6": "2001:db8:99::53",
        "domain": "offered.example",
        "is_domain_taken": host.keyfiles.iter().any(|keyfile| takes_domain(&keyfile.content)),
    });
    report.insert("offered".to_owned(), offered);
    Report(Value::Object(report))
}

/// Whether NetworkManager takes the search domain of the network for a profile. Only DHCPv4 offers one there (dnsmasq sends `--domain`
/// as option 15, and nothing like it by DHCPv6 or router advertisements), and NetworkManager prefers domains of the profile in the same
/// family.
fn takes_domain(keyfile: &str) -> bool {
    let Some(ipv4) = keyfile.split("\n[").find(|section| section.starts_with("ipv4]")) else { return false };
    let has = |beginning: &str| ipv4.lines().any(|line| line.starts_with(beginning));
    has("method=auto") && !has("ignore-auto-dns=true") && !has("dns-search=")
}

fn stand_in_mac(number: usize) -> String {
    format!("52:54:00:aa:00:{:02x}", number + 1)
}

/// Whether it is one that can have a stand-in, which has no PCI address.
fn is_nic(interface: &Value) -> bool {
    matches!(text(&interface["type"]), "" | "ethernet")
        && interface["state"] != "absent"
        && interface["name"] != "lo"
        && interface["identifier"] != "pci-address"
}

/// The interfaces that one stands on.
fn mentions(interface: &Value) -> Vec<&str> {
    let ports = list(&interface["link-aggregation"]["port"]).chain(list(&interface["vrf"]["port"])).map(text);
    let bridged = list(&interface["bridge"]["port"]).map(|port| text(&port["name"]));
    let bases = ["vlan", "vxlan", "mac-vlan", "mac-vtap", "macsec"].map(|kind| text(&interface[kind]["base-iface"]));
    ports.chain(bridged).chain(bases).filter(|name| !name.is_empty()).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
