use proptest::prelude::*;

use crate::check::{self, CheckedHost};
use crate::host::{HostSpec, NmstateDocument};
use crate::network;
use crate::report::{DocumentPath, Report};
use crate::topology::{Bond, Bridge, Device, Interface, Ip, Kind, Topology, Vlan};

fn host(document: &str) -> HostSpec {
    HostSpec::with_network(NmstateDocument::new(serde_yaml::from_str(document).unwrap(), DocumentPath::root()))
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.findings().iter().map(|finding| finding.code).collect()
}

#[test]
fn the_nic_that_a_host_boots_from_has_a_use() {
    const MAC: &str = "identifier: mac-address, mac-address: '52:54:00:00:00:01'";
    let of = |rest: &str| {
        let document = format!(
            "interfaces: [{{name: a, type: ethernet, {MAC}}}, {{name: b, type: ethernet, ipv4: {{enabled: true, dhcp: true}}}}{rest}]"
        );
        let host = HostSpec { boot_mac: "52:54:00:00:00:01".parse().ok(), ..host(&document) };
        codes(&network::convert(&host).1)
    };
    assert_eq!(of(""), ["boot-nic-unused"]);
    assert!(of(", {name: v, type: vlan, vlan: {base-iface: a, id: 7}}").is_empty());
    assert!(of(", {name: br0, type: linux-bridge, bridge: {port: [{name: a}]}}").is_empty());
}

fn interface(name: usize, kind: usize, below: usize, controller: Option<usize>, active: bool) -> Interface {
    let parent = below.to_string();
    let path = DocumentPath::root();
    Interface {
        name: name.to_string(),
        device: Device::Name,
        kind: match kind {
            0 => Kind::Ethernet,
            1 => Kind::Vlan(Vlan { parent, id: u16::try_from(below).unwrap() }),
            2 => Kind::Bond(Bond::default()),
            3 => Kind::LinuxBridge(Bridge::default()),
            4 => Kind::MacVlan { parent, tap: false },
            _ => Kind::Vrf(u32::try_from(below).unwrap()),
        },
        active,
        mac: None,
        mtu: kind.is_multiple_of(2).then_some(9000),
        controller: controller.map(|controller| controller.to_string()),
        ipv4: Ip::disabled(path.clone()),
        ipv6: Ip::disabled(path.clone()),
        path,
    }
}

proptest! {
    /// However interfaces stand on each other: the checks come to an end, and find a ring exactly where there is one.
    #[test]
    fn rings_are_found(
        shapes in prop::collection::vec((0..6_usize, 0..8_usize, prop::option::weighted(0.3, 0..8_usize), any::<bool>()), 1..8),
    ) {
        let interfaces: Vec<Interface> = shapes
            .iter()
            .enumerate()
            .map(|(name, (kind, below, controller, active))| interface(name, *kind, *below, *controller, *active))
            .collect();
        let topology = Topology { interfaces, ..Topology::default() };
        let mut report = Report::new();
        check::host(CheckedHost { host: &host("{}"), topology: &topology }, &mut report);
        prop_assert_eq!(codes(&report).contains(&"interface-loop"), has_ring(&topology));
    }
}

/// Takes out what stands on nothing that is left, again and again; what remains is rings and what stands on them.
fn has_ring(topology: &Topology) -> bool {
    let mut left: Vec<&Interface> = topology.interfaces.iter().collect();
    loop {
        let count = left.len();
        let stands = |upper: &Interface, lower: &Interface| {
            upper.kind.parent() == Some(lower.name.as_str()) || lower.controller.as_deref() == Some(upper.name.as_str())
        };
        let kept: Vec<&Interface> =
            left.iter().copied().filter(|upper| left.iter().any(|lower| stands(upper, lower))).collect();
        if kept.len() == count {
            return count > 0;
        }
        left = kept;
    }
}
