//! cloud-init's `network-config`, against what netplan makes of it for NetworkManager, and cloud-init for netplan.
//!
//! netplan 0.106 writes no routing rules for NetworkManager, and no routes other than unicast ones, and its profile of a NIC that it renames looks for
//! the new name. cloud-init 22.4 leaves out the routes of the host for netplan, and the metrics of subnets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::fixtures;
use hosts::input;
use hosts::model::{Device, Interface, Kind, Topology};
use hosts::network::{Keyfile, convert};
use serde_yaml::{Mapping, Value};

/// What cloud-init writes for netplan.
const RENDER: &str = "import sys
from cloudinit import util
from cloudinit.net import network_state, netplan
config = util.load_yaml(open(sys.argv[1]).read())
state = network_state.parse_net_config_data(config.get('network', config))
print(netplan.Renderer({'netplan_path': 'etc/netplan/50.yaml', 'postcmds': False})._render_content(state))";

/// The metrics of routes that name none: NetworkManager's by the type of the interface, and the kernel's, which nmstate writes.
const DEFAULT_METRICS: [u32; 5] = [100, 300, 400, 425, 1024];

fn documents() -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(fixtures("inputs/network-config")).unwrap().map(|entry| entry.unwrap().path());
    let named = entries.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path));
    let mut found: Vec<_> =
        named.filter(|(name, _)| !name.ends_with(".hosts.json") && !name.ends_with(".findings")).collect();
    found.sort();
    found
}

/// The network in dayone's profiles of a document.
fn ours(text: &str) -> Topology {
    let read = input::read(text.as_bytes());
    let (converted, report) = convert(read.hosts.first().unwrap_or_else(|| panic!("{:?}", read.report)));
    let converted = converted.unwrap_or_else(|| panic!("{:?}", report.findings()));
    Topology::from_keyfiles(&converted.keyfiles, None)
}

/// The profiles that netplan writes.
fn netplan(body: Mapping) -> Topology {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("etc/netplan");
    fs::create_dir_all(&directory).unwrap();
    let document = Mapping::from_iter([("network".into(), body.into())]);
    fs::write(directory.join("50.yaml"), serde_yaml::to_string(&document).unwrap()).unwrap();
    let output = Command::new("netplan").args(["generate", "--root-dir"]).arg(root.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let profiles = fs::read_dir(root.path().join("run/NetworkManager/system-connections")).unwrap();
    let profile = |path: &Path| Keyfile {
        name: path.file_name().unwrap().to_str().unwrap().parse().unwrap(),
        content: fs::read_to_string(path).unwrap(),
    };
    let keyfiles: Vec<Keyfile> = profiles.map(|entry| profile(&entry.unwrap().path())).collect();
    Topology::from_keyfiles(&keyfiles, None)
}

/// The document as netplan has it, for NetworkManager, and without new names of NICs.
fn body(text: &str) -> Mapping {
    let mut document: Mapping = serde_yaml::from_str(text).unwrap();
    let mut body = match document.remove("network") {
        Some(Value::Mapping(body)) => body,
        _ => document,
    };
    body.insert("renderer".into(), "NetworkManager".into());
    if let Some(Value::Mapping(nics)) = body.get_mut("ethernets") {
        for nic in nics.values_mut().filter_map(Value::as_mapping_mut) {
            nic.remove("set-name");
        }
    }
    body
}

/// What is compared of a network, by sentences about it. NICs that are found by MAC address have no name of their own.
fn facts(topology: &Topology) -> BTreeSet<String> {
    let by_mac = topology.interfaces.iter().filter_map(|nic| match nic.device {
        Device::Mac(mac) => Some((nic.name.clone(), mac.to_string())),
        _ => None,
    });
    let by_mac: BTreeMap<_, _> = by_mac.collect();
    let name = |name: &str| by_mac.get(name).cloned().unwrap_or_else(|| name.to_owned());
    let mut facts = BTreeSet::new();
    for interface in &topology.interfaces {
        let Interface { mac, mtu, controller, ipv4, ipv6, .. } = interface;
        let own = name(&interface.name);
        let mut say = |what: String| facts.insert(format!("{own}: {what}"));
        match &interface.kind {
            Kind::Bond(bond) => {
                // NetworkManager's default, which dayone writes.
                let shown = bond.options.keys().filter(|key| *key != "miimon" || bond.number("miimon") != Some(100));
                let shown = shown.map(|key| (key, bond.option(key).map(&name))).collect::<Vec<_>>();
                say(format!("bond {} {shown:?}", bond.mode));
            }
            Kind::Vlan(vlan) => {
                say(format!("VLAN {} on {}", vlan.id, name(&vlan.parent)));
            }
            Kind::LinuxBridge(bridge) => {
                say(format!("bridge, STP {} {:?} {:?}", bridge.stp, bridge.forward_delay, bridge.priority));
            }
            kind => {
                say(format!("{kind:?}"));
            }
        }
        say(format!("address {mac:?}, MTU {mtu:?}, port of {:?}", controller.as_deref().map(name)));
        for ip in [ipv4, ipv6] {
            for address in &ip.addresses {
                say(address.network.to_string());
            }
            if ip.is_automatic() {
                say(format!("automatic, {:?} {} {}", ip.metric, ip.automatic_routes, ip.automatic_gateway));
            }
        }
    }
    for route in &topology.routes {
        facts.insert(format!(
            "{} via {:?} dev {:?} metric {:?} table {} src {:?} {:?}",
            route.destination,
            route.gateway,
            route.interface.as_deref().map(name),
            route.metric.filter(|metric| !DEFAULT_METRICS.contains(metric)),
            route.table,
            route.source,
            route.options.mtu,
        ));
    }
    facts.extend(topology.dns.servers.iter().map(|server| format!("asks {}", server.address)));
    facts.extend(topology.dns.search.iter().map(|domain| format!("searches {domain}")));
    facts
}

#[test]
fn netplan_makes_the_same_of_version_2() {
    let mut compared = 0;
    for (name, path) in documents().into_iter().filter(|(name, _)| !name.contains("version-1")) {
        if name == "netplan-blackhole.yaml" {
            continue;
        }
        let body = body(&fs::read_to_string(&path).unwrap());
        let text = serde_yaml::to_string(&body).unwrap();
        assert_eq!(facts(&ours(&text)), facts(&netplan(body)), "{name}");
        compared += 1;
    }
    assert!(compared > 2, "{compared}");
}

#[test]
fn version_1_is_what_cloud_init_tells_netplan() {
    let mut compared = 0;
    for (name, path) in documents().into_iter().filter(|(name, _)| name.contains("version-1")) {
        let output = Command::new("/usr/bin/python3").args(["-c", RENDER]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let rendered = String::from_utf8(output.stdout).unwrap();
        let theirs = netplan(body(&rendered));
        let mut document = fs::read_to_string(&path).unwrap();
        // What cloud-init leaves out for netplan.
        for left_out in [
            "  - type: route\n    destination: 198.51.100.0/24\n    gateway: 203.0.113.1\n    metric: 7\n",
            ", metric: 300",
        ] {
            document = document.replace(left_out, "");
        }
        let mut ours = facts(&ours(&document));
        // cloud-init leaves these out as well: name servers of the loopback interface.
        ours.remove("asks 192.0.2.55");
        let theirs = facts(&theirs);
        assert_eq!(ours, theirs, "{name}\n{rendered}");
        compared += 1;
    }
    assert!(compared > 1, "{compared}");
}
