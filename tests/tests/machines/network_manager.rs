//! Hosts of `fixtures/`, brought up by NetworkManager: what they have in the end is what their documents say, and nothing
//! else. All of them are in one machine; see `fixtures/bases/make-networkmanager-ramdisk.sh`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use acceptance::bases::fixtures;
use acceptance::network_manager::{Host, bring_up};
use acceptance::report::Report;
use acceptance::state::{all_differences, topology_differences};
use hosts::network::{ConvertedNetwork, convert};
use serde_json::{Value, json};
use vocabulary::host::{HostSpec, NamedNic, NetworkDocument, NmstateDocument};
use vocabulary::report::DocumentPath;

/// What stand-ins for NICs cannot show, and why. NetworkManager loads the profiles, and that is all.
const ONLY_LOADED: &[(&str, &str)] = &[
    ("nmstate/dropped-features", "SR-IOV: NetworkManager gives the profile to no NIC without it"),
    ("nmstate/ethernet-settings", "SR-IOV"),
    ("nmstate/every-ethtool-option", "SR-IOV"),
    ("nmstate/ieee8021x-tls", "802.1X: no supplicant, no switch that asks for it, and no certificates"),
    ("nmstate/infiniband", "no InfiniBand"),
    ("nmstate/mac-identified-port-settings", NO_SLOT),
    ("nmstate/macsec", NO_MACSEC),
    ("nmstate/nics-references", NO_MACSEC),
    ("nmstate/pci-identified", NO_SLOT),
];

/// A case, what its document is to be without, and how that is taken out.
type Without = (&'static str, &'static str, fn(&mut Document));

/// Documents of which only a part cannot be shown: they are there once more, without it.
const WITHOUT: &[Without] = &[
    ("nmstate/dropped-features", "SR-IOV", without_sr_iov),
    ("nmstate/ethernet-settings", "SR-IOV", without_sr_iov),
    ("nmstate/every-ethtool-option", "SR-IOV", without_sr_iov),
    ("nmstate/mac-identified-port-settings", "slot", |document| without_interface(document, "by slot")),
    ("nmstate/nics-references", "MACsec", |document| without_interface(document, "macsec0")),
];

/// Differences that there must be, and why.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("inputs/agent-config/bond-primary-0", "bond0: primary", A_FINDING),
    ("inputs/site-config/cluster-instance-0", "bond0: primary", A_FINDING),
    ("nmstate/bond-primary-alias", "bond0: primary", A_FINDING),
    ("nmstate/bond-vlan", "\"eth0\": priority", A_FINDING),
    ("nmstate/bridge-vlan-filtering", "br0", A_FINDING),
    ("nmstate/bridge-vlan-filtering", "name servers", A_FINDING),
    ("nmstate/bridge-vlan-filtering", "search domains", A_FINDING),
    ("nmstate/dropped-features without SR-IOV", "eth0: ipv6 addresses", A_FINDING),
    ("nmstate/escapes", "Lab__1___floor_2.nmconnection", NO_SUPPLICANT),
    ("nmstate/escapes", "eth0: ipv4: no address", NO_SUPPLICANT),
    ("nmstate/escapes", "eth0: Dhcp, and from the network came []", NO_SUPPLICANT),
    ("nmstate/escapes", "name servers", NO_SUPPLICANT),
    ("nmstate/escapes", "search domains", NO_SUPPLICANT),
    ("nmstate/every-bond-option", "bond0: lacp_active", A_FINDING),
    ("nmstate/every-bond-option", "bond1: arp_missed_max", A_FINDING),
    ("nmstate/every-bond-option", "bond4", NO_NFTABLES),
    ("nmstate/every-bond-option", "eth6", NO_NFTABLES),
    ("nmstate/every-bridge-option", "br0", A_FINDING),
    ("nmstate/every-bridge-option", "name servers", A_FINDING),
    ("nmstate/every-bridge-option", "search domains", A_FINDING),
    ("nmstate/nics-bond-primary", "bond0: primary", A_FINDING),
    (
        "nmstate/vlan-qos",
        "qos-map",
        "NetworkManager 1.42 numbers the entries, and kernels since 2024 take number 1 alone",
    ),
];

/// A warning of NetworkManager that there may be: on a busy machine its own 2 s for a link-local address are too short. It
/// tries again, and what comes of that is compared.
const OF_A_BUSY_MACHINE: &str =
    "no IPv6 link local address to retry after Duplicate Address Detection failures (back off)";

/// Warnings of NetworkManager that there must be, and why.
const WARNINGS: &[(&str, &str, &str)] = &[
    ("nmstate/dropped-features", "invalid key 'ethtool.fec-mode'", A_FINDING),
    ("nmstate/dropped-features without SR-IOV", "invalid key 'ethtool.fec-mode'", A_FINDING),
    ("nmstate/dropped-features without SR-IOV", "set-link: failure", STAND_IN),
    ("nmstate/dropped-features without SR-IOV", "ethtool: failure setting ring", STAND_IN),
    ("nmstate/escapes", "Activation: failed", NO_SUPPLICANT),
    ("nmstate/escapes", "Failed to D-Bus activate wpa_supplicant", NO_SUPPLICANT),
    ("nmstate/ethernet-settings without SR-IOV", "set-link: failure", STAND_IN),
    ("nmstate/ethernet-settings without SR-IOV", "ethtool: failure", STAND_IN),
    ("nmstate/every-bond-option", "invalid option 'arp_missed_max'", A_FINDING),
    ("nmstate/every-bond-option", "invalid option 'lacp_active'", A_FINDING),
    ("nmstate/every-bond-option", "balance-slb failed", NO_NFTABLES),
    ("nmstate/every-bond-option", "(bond4): Activation: failed", NO_NFTABLES),
    ("nmstate/every-bond-option", "(eth6): Activation: failed", NO_NFTABLES),
    ("nmstate/every-ethtool-option without SR-IOV", "ethtool: failure", STAND_IN),
    ("nmstate/ieee8021x-tls", "does not exist", "certificates come another way"),
    ("nmstate/ieee8021x-tls", "No agents were available", "certificates come another way"),
    ("nmstate/ieee8021x-tls", "Activation: failed", "certificates come another way"),
    ("nmstate/macsec", "macsec0", NO_MACSEC),
    ("nmstate/nics-incomplete", "set-link: failure", STAND_IN),
    ("nmstate/nics-references", "macsec0", NO_MACSEC),
    ("nmstate/veth", "set-link: failure", STAND_IN),
];

const A_FINDING: &str = "a finding says so";
const NO_NFTABLES: &str = "balance-slb takes nftables, which the machine does not have";
const NO_SUPPLICANT: &str = "802.1X takes a supplicant, which the machine does not have";
const NO_SLOT: &str = "stand-ins have no PCI address";
const NO_MACSEC: &str = "MACsec: no supplicant, and nobody at the other end who knows the key";
const STAND_IN: &str = "stand-ins for NICs have nothing of the kind";

/// Documents of `fixtures/checks/host` that dayone only warns about, and what NetworkManager logs because of them.
const WARNED: [(&str, &[&str]); 2] = [
    ("bond-use-carrier", &["use_carrier cannot be disabled"]),
    ("route-source-elsewhere", &["failure to add IPv4 route", "failure to add IPv6 route"]),
];

/// Documents that other hosts fulfil, too: the host of the document, these others, and why.
const ALIKE: &[(&str, &[&str], &str)] = &[
    (
        "inputs-bare-metal-host-bmc-whose-credentials-cannot-be-read-0",
        &["inputs-nmstate-anchors-0"],
        "a NIC without addresses",
    ),
    ("inputs-nmstate-in-brackets-0", &["inputs-joined-policy-for-whoever-is-there-0"], "a NIC without addresses"),
    (
        "nmstate-every-ethtool-option-without-SR-IOV",
        &["nmstate-down-and-absent", "nmstate-ethernet-settings-without-SR-IOV", "nmstate-hostname"],
        ONLY_DHCP,
    ),
    (
        "nmstate-hostname",
        &[
            "nmstate-down-and-absent",
            "nmstate-ethernet-settings-without-SR-IOV",
            "nmstate-every-ethtool-option-without-SR-IOV",
        ],
        ONLY_DHCP,
    ),
];

const ONLY_DHCP: &str = "an address by DHCP is all that stand-ins can show of it";

struct Case {
    name: String,
    boot_mac: Option<String>,
    document: Value,
    network: ConvertedNetwork,
}

impl Case {
    fn of(name: String, host: &HostSpec) -> Option<Self> {
        let NetworkDocument::Nmstate(nmstate) = &host.network else { return None };
        let document = identified(serde_json::to_value(&nmstate.value).unwrap(), &host.nics);
        let boot_mac = host.boot_mac.map(|mac| mac.to_string());
        Some(Self { name, boot_mac, document, network: convert(host).0? })
    }

    fn is_only_loaded(&self) -> bool {
        ONLY_LOADED.iter().any(|(name, _)| *name == self.name)
    }

    fn host(&self) -> Host {
        let mut host = Host::new(&self.name.replace(['/', ' '], "-"), &self.document, self.network.keyfiles.clone());
        match self.name.as_str() {
            "nmstate/bridge-vlan-filtering" | "nmstate/every-bridge-option" => host.wait = 45,
            "nmstate/copy-mac-from-boot-nic" => {
                drop(host.nics.insert("eth0".to_owned(), self.boot_mac.clone().unwrap()))
            }
            "nmstate/nics-swapped" => {
                let [eno1, eno2] = ["52:54:00:00:00:01", "52:54:00:00:00:02"].map(str::to_owned);
                host.nics = BTreeMap::from([("eno1".to_owned(), eno1), ("eno2".to_owned(), eno2)]);
            }
            _ => {}
        }
        host
    }
}

/// The document in which NICs that the host's documents know by their MAC addresses are found by these.
fn identified(mut document: Value, nics: &[NamedNic]) -> Value {
    let text = document.to_string();
    for nic in nics {
        let found_by = |interface: &mut Value| {
            interface["identifier"] = json!("mac-address");
            interface["mac-address"] = json!(nic.mac.to_string());
        };
        let Some(interfaces) = document["interfaces"].as_array_mut() else { continue };
        if let Some(described) = interfaces.iter_mut().find(|interface| interface["name"] == nic.name) {
            found_by(described);
        } else if text.contains(&json!(nic.name).to_string()) {
            let mut interface = json!({"name": nic.name, "type": "ethernet", "state": "up"});
            found_by(&mut interface);
            interfaces.push(interface);
        }
    }
    document
}

/// A host with this network, and what stands beside its document.
fn host(nmstate: Document, case: &Path) -> HostSpec {
    let boot_mac = fs::read_to_string(case.join("boot-mac")).ok();
    let nics = fs::read_to_string(case.join("nics.yaml")).ok();
    let nics: Value = nics.map_or(Value::Null, |text| serde_yaml::from_str(&text).unwrap());
    let nic = |nic: &Value| NamedNic {
        name: nic["name"].as_str().unwrap().to_owned(),
        mac: nic["macAddress"].as_str().unwrap().parse().unwrap(),
        path: DocumentPath::root(),
    };
    HostSpec {
        boot_mac: boot_mac.map(|mac| mac.trim().parse().unwrap()),
        nics: nics["interfaces"].as_array().into_iter().flatten().map(nic).collect(),
        ..HostSpec::with_network(NmstateDocument::new(nmstate, DocumentPath::root()))
    }
}

type Document = serde_yaml::Value;

fn without_sr_iov(document: &mut Document) {
    for interface in document["interfaces"].as_sequence_mut().unwrap() {
        interface.get_mut("ethernet").and_then(|ethernet| ethernet.as_mapping_mut()?.remove("sr-iov"));
    }
}

/// Without an interface, and no bridge's port either.
fn without_interface(document: &mut Document, name: &str) {
    let interfaces = document["interfaces"].as_sequence_mut().unwrap();
    interfaces.retain(|interface| interface["name"] != name);
    for interface in interfaces {
        let ports = interface.get_mut("bridge").and_then(|bridge| bridge["port"].as_sequence_mut());
        ports.into_iter().for_each(|ports| ports.retain(|port| port["name"] != name));
    }
}

/// The documents of `fixtures/nmstate`, and what there is of them without a part.
fn nmstate_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for path in directory("nmstate") {
        let Ok(text) = fs::read_to_string(path.join("nmstate.yaml")) else { continue };
        let name = format!("nmstate/{}", path.file_name().unwrap().to_str().unwrap());
        let document: Document = serde_yaml::from_str(&text).unwrap();
        let mut case = Case::of(name.clone(), &host(document.clone(), &path)).unwrap();
        if let Ok(text) = fs::read_to_string(path.join("first-names.yaml")) {
            let host = host(serde_yaml::from_str(&text).unwrap(), &path);
            case.document = Case::of(name.clone(), &host).unwrap().document;
        }
        cases.push(case);
        for (_, part, without) in WITHOUT.iter().filter(|(case, ..)| *case == name) {
            let mut rest = document.clone();
            without(&mut rest);
            assert_ne!(rest, document);
            cases.push(Case::of(format!("{name} without {part}"), &host(rest, &path)).unwrap());
        }
    }
    assert!(cases.len() > 35, "{}", cases.len());
    cases
}

/// The hosts of all documents in a directory of `fixtures`.
fn input_cases(name: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let is_document = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        path.is_file() && (name.ends_with(".yaml") || name.ends_with(".json")) && !name.ends_with(".hosts.json")
    };
    for path in directory(name).into_iter().filter(is_document) {
        let input = hosts::input::read(&fs::read(&path).unwrap());
        let file = path.file_stem().unwrap().to_str().unwrap();
        for (number, host) in input.hosts.iter().enumerate() {
            cases.extend(Case::of(format!("{name}/{file}-{number}"), host));
        }
    }
    cases
}

fn directory(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(fixtures(name)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// What is wrong with a host that NetworkManager has brought up.
fn findings(case: &Case, report: &Report) -> Vec<String> {
    let mut found: Vec<_> = report.lines("setup").iter().map(|line| format!("setup: {line}")).collect();
    let connections = report.connections();
    for keyfile in &case.network.keyfiles {
        let path = format!("/etc/NetworkManager/system-connections/{}", keyfile.name);
        match connections.iter().find(|connection| connection.file == path) {
            None => found.push(format!("{} was not loaded", keyfile.name)),
            Some(_) if case.is_only_loaded() => {}
            Some(connection) => {
                let wanted = if keyfile.content.contains("\nautoconnect=false\n") { "" } else { "activated" };
                if connection.state != wanted {
                    found.push(format!("{} is {:?}", keyfile.name, connection.state));
                }
            }
        }
    }
    if !case.is_only_loaded() {
        found.extend(all_differences(&case.document, report));
        let of_topology = topology_differences(&case.network.topology, report).into_iter();
        found.extend(of_topology.map(|difference| format!("topology: {difference}")));
    }
    found
}

/// Those that are in a table, and those that are not; and entries of the table that nothing is like.
fn sorted_out(case: &str, said: Vec<String>, known: &[(&str, &str, &str)]) -> Vec<String> {
    let known: Vec<_> = known.iter().filter(|(name, ..)| *name == case).map(|(_, text, _)| *text).collect();
    let stale = known.iter().filter(|text| !said.iter().any(|line| line.contains(*text)));
    let mut wrong: Vec<_> = stale.map(|text| format!("{case}: no longer: {text}")).collect();
    let unknown = said.iter().filter(|line| !known.iter().any(|text| line.contains(text)));
    wrong.extend(unknown.map(|line| format!("{case}: {line}")));
    wrong
}

#[test]
fn network_manager_makes_of_keyfiles_what_the_documents_say() {
    let mut cases = nmstate_cases();
    cases.extend(input_cases("scenarios"));
    for path in directory("inputs").iter().filter(|path| !path.ends_with("invalid")) {
        cases.extend(input_cases(&format!("inputs/{}", path.file_name().unwrap().to_str().unwrap())));
    }
    assert!(cases.len() > 80, "{}", cases.len());
    // The same host comes in many shapes: it is brought up once.
    let mut hosts: BTreeMap<(Vec<String>, BTreeMap<String, String>), Host> = BTreeMap::new();
    let of_case: Vec<String> = cases
        .iter()
        .map(|case| {
            let host = case.host();
            let keyfiles = host.keyfiles.iter().map(|keyfile| keyfile.content.clone()).collect();
            hosts.entry((keyfiles, host.nics.clone())).or_insert(host).name.clone()
        })
        .collect();
    let hosts: Vec<_> = hosts.into_values().collect();
    let reports = bring_up(&hosts);

    let mut wrong = Vec::new();
    for (case, host) in cases.iter().zip(&of_case) {
        let report = &reports[host];
        wrong.extend(sorted_out(&case.name, findings(case, report), DIFFERENCES));
        let log = report.lines("log").into_iter();
        let warnings = log.filter(|line| line.starts_with("<warn>") || line.starts_with("<error>"));
        let warnings = warnings.filter(|line| !line.contains(OF_A_BUSY_MACHINE)).map(str::to_owned);
        wrong.extend(sorted_out(&case.name, warnings.collect(), WARNINGS));
    }
    assert!(wrong.is_empty(), "{} hosts, {} documents\n{}", hosts.len(), cases.len(), wrong.join("\n"));

    // Otherwise it would prove nothing: hosts are not what the documents of others say.
    let compared: Vec<_> = cases.iter().zip(&of_case).filter(|(case, _)| !case.is_only_loaded()).collect();
    let (mut pairs, mut alike) = (0, BTreeSet::new());
    for (case, host) in &compared {
        for (_, other) in compared.iter().filter(|(_, other)| other != host) {
            pairs += 1;
            if all_differences(&case.document, &reports[*other]).is_empty() {
                alike.insert((host.as_str(), other.as_str()));
            }
        }
    }
    let expected = ALIKE.iter().flat_map(|(document, hosts, _)| hosts.iter().map(|host| (*document, *host)));
    assert_eq!(alike, expected.collect(), "of {pairs} pairs");
    assert!(pairs > 5000, "{pairs}");
}

#[test]
fn network_manager_fails_with_what_dayone_warns_about() {
    let directory = fixtures("checks/host");
    let hosts = WARNED.map(|(name, _)| {
        let text = fs::read_to_string(directory.join(format!("{name}.yaml"))).unwrap();
        Case::of(name.to_owned(), &host(serde_yaml::from_str(&text).unwrap(), &directory)).unwrap().host()
    });
    let reports = bring_up(&hosts);
    for (host, (name, failures)) in hosts.iter().zip(WARNED) {
        let log = reports[&host.name].lines("log");
        for failure in failures {
            assert!(log.iter().any(|line| line.contains(failure)), "{name}: {failure}: {log:#?}");
        }
    }
}
