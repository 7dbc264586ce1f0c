use crate::model::{Interface, Topology};
use crate::network;
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

fn topology(document: &str) -> Topology {
    let path = DocumentPath::root();
    let host = HostSpec::with_network(NmstateDocument::new(serde_yaml::from_str(document).unwrap(), path));
    let (network, report) = network::convert(&host);
    network.unwrap_or_else(|| panic!("{report:?}")).topology
}

/// Name, kind, controller, methods and addresses.
fn line(interface: &Interface) -> String {
    let ip = |ip: &crate::model::Ip| {
        let addresses: Vec<String> = ip.addresses.iter().map(|address| address.network.to_string()).collect();
        format!("{:?} {}", ip.method, addresses.join(","))
    };
    let Interface { name, kind, controller, ipv4, ipv6, path, .. } = interface;
    let (kind, controller) = (kind.name(), controller.as_deref().unwrap_or("-"));
    format!("{name} {kind} {controller} | {} | {} | {path}", ip(ipv4), ip(ipv6))
}

fn lines(topology: &Topology) -> Vec<String> {
    topology.interfaces.iter().map(line).collect()
}

#[test]
fn what_nmstate_adds_is_there() {
    let topology = topology(
        "
interfaces:
- name: bond0
  type: bond
  link-aggregation: {mode: 4, options: {miimon: 100, all_slaves_active: delivered}, port: [eth1, eth0]}
  ipv6: {enabled: true, address: [{ip: 'fe80::1', prefix-length: 64}]}
- name: eth1
  type: ethernet
  mtu: 9000
- {name: veth0, type: veth, state: down, veth: {peer: veth1}}
- name: vrf0
  type: vrf
  vrf: {port: [eth2], route-table-id: 100}
- {name: eth2, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
routes:
  config:
  - {destination: 192.0.2.99/25, next-hop-interface: eth2, next-hop-address: 192.0.2.1, vrf-name: vrf0}
  - {destination: 203.0.113.0/24, route-type: blackhole, metric: 7}
",
    );
    assert_eq!(
        lines(&topology),
        [
            "bond0 bond - | Disabled  | LinkLocal  | interfaces[0]",
            "eth0 ethernet bond0 | Disabled  | Disabled  | interfaces[0].link-aggregation.port[1]",
            "eth1 ethernet bond0 | Disabled  | Disabled  | interfaces[1]",
            "eth2 ethernet vrf0 | Static 192.0.2.10/24 | Disabled  | interfaces[4]",
            "veth0 veth - | Disabled  | Disabled  | interfaces[2]",
            "veth1 veth - | Disabled  | Disabled  | interfaces[2].veth.peer",
            "vrf0 vrf - | Disabled  | Disabled  | interfaces[3]",
        ]
    );
    let crate::model::Kind::Bond(bond) = &topology.interface("bond0").unwrap().kind else { panic!() };
    assert_eq!(bond.mode, "802.3ad");
    assert_eq!(bond.options["all_slaves_active"], "1");
    assert!(["veth0", "veth1"].iter().all(|end| !topology.interface(end).unwrap().active));
    assert_eq!(topology.interface("eth1").unwrap().mtu, Some(9000));
    let routes: Vec<String> = topology
        .routes
        .iter()
        .map(|route| {
            format!("{} {:?} table {} metric {:?}", route.destination, route.interface, route.table, route.metric)
        })
        .collect();
    assert_eq!(
        routes,
        ["192.0.2.0/25 Some(\"eth2\") table 100 metric None", "203.0.113.0/24 None table 254 metric Some(7)"]
    );
}

#[test]
fn all_names_of_an_interface_mean_it() {
    let topology = topology(
        "
interfaces:
- {name: nic, profile-name: uplink, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'}
- {name: eth0, profile-name: left, type: ethernet, mac-address: '52:54:00:00:00:02'}
- {name: vlan7, type: vlan, vlan: {base-iface: nic, id: 7}, ipv4: {enabled: true, dhcp: true, auto-dns: false}}
- {name: br0, type: linux-bridge, copy-mac-from: eth0, bridge: {port: [{name: left, vlan: {mode: access, tag: 5}}]}}
",
    );
    assert_eq!(
        lines(&topology),
        [
            "br0 bridge - | Disabled  | Disabled  | interfaces[3]",
            "eth0 ethernet br0 | Disabled  | Disabled  | interfaces[1]",
            "uplink ethernet - | Disabled  | Disabled  | interfaces[0]",
            "vlan7 vlan - | Dhcp  | Disabled  | interfaces[2]",
        ]
    );
    assert_eq!(topology.children("uplink").map(|child| child.name.as_str()).collect::<Vec<_>>(), ["vlan7"]);
    assert_eq!(topology.interface("br0").unwrap().mac.unwrap().to_string(), "52:54:00:00:00:02");
    let vlan = topology.interface("vlan7").unwrap();
    assert!(!vlan.ipv4.automatic_dns && vlan.ipv4.automatic_gateway);
}

#[test]
fn places_are_those_of_the_users_documents() {
    let value = "interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}}]";
    let mut document = NmstateDocument::new(serde_yaml::from_str(value).unwrap(), DocumentPath::root());
    let part = DocumentPath::root().key("interfaces").index(0);
    document.origins.moved(part, DocumentPath::document("policy").key("spec"));
    let (network, _) = network::convert(&HostSpec::with_network(document));
    let topology = network.unwrap().topology;
    assert_eq!(topology.interfaces[0].ipv4.path.to_string(), "policy: spec.ipv4");
}

#[test]
fn interfaces_whose_profiles_share_a_name_have_their_own() {
    let nic = |name: &str, profile: &str, mac: &str| {
        format!(
            "- {{name: {name}, type: ethernet, profile-name: {profile}, identifier: mac-address, mac-address: '{mac}'}}\n"
        )
    };
    let document = ["interfaces:\n".to_owned()]
        .into_iter()
        .chain([
            nic("a", "uplink", "52:54:00:00:00:01"),
            nic("b", "uplink", "52:54:00:00:00:02"),
            nic("c", "d", "52:54:00:00:00:03"),
            nic("d", "e", "52:54:00:00:00:04"),
            nic("f", "f", "52:54:00:00:00:05"),
        ])
        .collect::<String>();
    let topology = topology(&document);
    let names: Vec<&str> = topology.interfaces.iter().map(|interface| interface.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "e", "f"]);
}

/// The kernel takes it for no source.
#[test]
fn a_route_may_have_the_unspecified_source() {
    let topology = topology(
        "
interfaces:
- {name: eth0, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
routes:
  config:
  - {destination: 203.0.113.0/24, next-hop-interface: eth0, next-hop-address: 192.0.2.1, source: 0.0.0.0}
",
    );
    assert_eq!(topology.routes.len(), 1);
}
