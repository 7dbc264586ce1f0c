mod learned;
mod netplan_alone;
mod readers;

use serde_json::{Value, json};

use super::*;
use vocabulary::host::{NamedNic, NmstateDocument};
use vocabulary::report::DocumentPath;

fn host(yaml: &str) -> HostSpec {
    HostSpec::with_network(NmstateDocument::new(serde_yaml::from_str(yaml).unwrap(), DocumentPath::root()))
}

type Convert = fn(&HostSpec) -> (Attempt<ConvertedNetwork>, Report);

fn value(convert: Convert, yaml: &str) -> Value {
    let (network, report) = convert(&host(yaml));
    let network = network.unwrap_or_else(|_| panic!("{:?}", report.findings()));
    serde_yaml::from_str(&network.network_data.unwrap()).unwrap()
}

/// The findings that refuse a document, as paths and messages.
fn refused(convert: Convert, yaml: &str) -> Vec<String> {
    let (network, report) = convert(&host(yaml));
    assert!(network.is_err(), "{yaml}: {network:?}");
    report.findings().iter().filter(|finding| finding.code.starts_with("not-in-")).map(ToString::to_string).collect()
}

const BOND: &str = "
hostname: {config: node-1}
interfaces:
- {name: nic1, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'}
- {name: nic2, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:02'}
- name: bond0
  type: bond
  mtu: 9000
  link-aggregation: {mode: 802.3ad, options: {lacp_rate: fast}, port: [nic1, nic2]}
- name: bond0.5
  type: vlan
  vlan: {base-iface: bond0, id: 5}
  ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}
  ipv6: {enabled: true, autoconf: true, dhcp: true}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: bond0.5}]}
dns-resolver: {config: {server: [198.51.100.1]}}
";

#[test]
fn netplan_says_a_bond_with_a_vlan() {
    let device = |extra: Value| {
        let mut device = json!({"dhcp4": false, "dhcp6": false, "accept-ra": false, "link-local": []});
        device.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        device
    };
    let nic = |number| device(json!({"match": {"macaddress": format!("52:54:00:00:00:0{number}")}}));
    let parameters = json!({"mode": "802.3ad", "mii-monitor-interval": 100, "lacp-rate": "fast"});
    let mut vlan = device(json!({
        "id": 5, "link": "bond0", "dhcp6": true, "accept-ra": true, "addresses": ["192.0.2.5/24"],
        "dhcp6-overrides": {"route-metric": 400, "use-domains": true}, "gateway4": "192.0.2.1",
        "nameservers": {"addresses": ["198.51.100.1"], "search": []},
    }));
    vlan.as_object_mut().unwrap().remove("link-local");
    let mac = "52:54:00:00:00:01";
    let bond = json!({"interfaces": ["nic1", "nic2"], "parameters": parameters, "mtu": 9000, "macaddress": mac});
    let expected = json!({
        "version": 2,
        "ethernets": {"nic1": nic(1), "nic2": nic(2)},
        "bonds": {"bond0": device(bond)},
        "vlans": {"bond0.5": vlan},
    });
    assert_eq!(value(network_config, BOND), expected);
    assert_eq!(network_config(&host(BOND)).0.unwrap().hostname.unwrap().as_str(), "node-1");
}

#[test]
fn what_openstack_cannot_say_is_a_warning() {
    let warnings = |convert: Convert, yaml: &str| -> Vec<String> {
        let (network, report) = convert(&host(yaml));
        assert!(network.is_ok(), "{:?}", report.findings());
        report.findings().iter().map(|finding| format!("{finding} [{}]", finding.code)).collect()
    };
    let without_ipv6 = "interfaces[2] has no IPv6, and the format cannot say so: the host takes addresses from routers that \
                        advertise some [ipv6-not-switched-off]";
    let ports = "interfaces[2] gets a MAC address that follows from the order of ports in the document, and with keyfiles from the \
                 order of their kernel names, which the document does not have: the network may give the host other IP addresses \
                 than with keyfiles [mac-address-made-up]";
    let duid = |format: &str| {
        format!(
            "interfaces[3].ipv6 identifies the host to DHCPv6 servers by another DUID than keyfiles do, and {format} has no \
             setting for it: the host may get another address [dhcpv6-duid-not-kept]"
        )
    };
    assert_eq!(warnings(network_data, BOND), [without_ipv6, ports, &duid("OpenStack's format")]);
    let without_netplan = "interfaces[2] ignores routers that advertise IPv6 addresses only where cloud-init writes netplan (Ubuntu); \
                           with systemd-networkd, NetworkManager or ifupdown, the host takes addresses from them \
                           [ipv6-not-switched-off]";
    assert_eq!(warnings(network_config, BOND), [ports, &duid("netplan"), without_netplan]);
    assert_eq!(warnings(netplan, BOND), [ports, &duid("netplan")]);
    let renamed = BOND.replace("bond0.5", "storage").replace("bond0", "uplink");
    let found = warnings(network_data, &renamed);
    let names = [
        "interfaces[2] is not called \"uplink\" on the host: cloud-init calls it bond0 [named-by-cloud-init]",
        "interfaces[3] is not called \"storage\" on the host: cloud-init calls it the name of its base interface and .5 \
         [named-by-cloud-init]",
    ];
    assert_eq!(found[..2], names);
}

#[test]
fn openstack_says_a_bond_with_a_vlan() {
    let nic = |number| {
        let mac = format!("52:54:00:00:00:0{number}");
        json!({"id": format!("nic{number}"), "type": "phy", "ethernet_mac_address": mac})
    };
    let expected = json!({
        "links": [
            nic(1), nic(2),
            {"id": "bond0", "type": "bond", "bond_mode": "802.3ad", "bond_miimon": 100, "bond_lacp_rate": "fast",
             "bond_links": ["nic1", "nic2"], "ethernet_mac_address": "52:54:00:00:00:01", "mtu": 9000},
            {"id": "bond0.5", "type": "vlan", "vlan_link": "bond0", "vlan_id": 5,
             "vlan_mac_address": "52:54:00:00:00:01"},
        ],
        "networks": [
            {"type": "ipv4", "ip_address": "192.0.2.5", "netmask": "255.255.255.0", "id": "network0", "link": "bond0.5",
             "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"}]},
            {"type": "ipv6_dhcpv6-stateful", "id": "network1", "link": "bond0.5", "routes": []},
        ],
        "services": [{"type": "dns", "address": "198.51.100.1"}],
    });
    assert_eq!(value(network_data, BOND), expected);
}

#[test]
fn ports_that_the_document_does_not_describe_are_there() {
    let yaml = "interfaces: [{name: br0, type: linux-bridge, bridge: {port: [{name: eth7}]}, \
                ipv4: {enabled: true, dhcp: true}}]";
    let found = value(network_config, yaml);
    assert_eq!(found["bridges"]["br0"]["interfaces"], json!(["eth7"]));
    assert_eq!(found["bridges"]["br0"]["parameters"], json!({"stp": true}));
    assert_eq!(found["bridges"]["br0"]["dhcp4"], true);
    assert_eq!(found["ethernets"]["eth7"]["dhcp4"], false);
}

#[test]
fn what_cannot_be_said_is_refused_with_its_place() {
    let interface = |members: &str| format!("interfaces: [{{name: eth0, type: ethernet, {members}}}]");
    let address = "ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}";
    let route = |members: &str| {
        format!(
            "interfaces: [{{name: eth0, type: ethernet, mac-address: '52:54:00:00:00:01', identifier: mac-address, \
             {address}}}]\nroutes: {{config: [{{destination: 0.0.0.0/0, next-hop-interface: eth0, {members}}}]}}"
        )
    };
    let spaced =
        "interfaces: [{name: a nic, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'}]";
    assert!(refused(network_config, spaced).iter().any(|finding| finding.contains("interfaces[0].name")));
    let both: [Convert; 2] = [network_config, network_data];
    for convert in both {
        for (yaml, place) in [
            (interface("lldp: {enabled: true}"), "interfaces[0].lldp.enabled"),
            (interface("ipv4: {enabled: true, dhcp: true, auto-dns: false}"), "interfaces[0].ipv4.auto-dns"),
            (interface("ipv6: {enabled: true, dhcp: true, autoconf: false}"), "interfaces[0].ipv6.autoconf"),
            (route("next-hop-address: 192.0.2.1, table-id: 100"), "routes.config[0].table-id"),
            (
                interface(address) + "\ndns-resolver: {config: {server: [192.0.2.53, 198.51.100.1]}}",
                "dns-resolver.config.server[1]",
            ),
            (
                "interfaces: [{name: d0, type: dummy, ipv4: {enabled: true, dhcp: true}}]".to_owned(),
                "interfaces[0].type",
            ),
        ] {
            let found = refused(convert, &yaml);
            assert!(found.iter().any(|finding| finding.contains(place)), "{place}: {found:?}");
        }
    }
    for (yaml, place) in [
        (interface(address), "interfaces[0]"),
        (route("next-hop-address: 192.0.2.1, metric: 5"), "routes.config[0].metric"),
        (
            route("next-hop-address: 192.0.2.1")
                + "\ndns-resolver: {config: {server: [192.0.2.53], search: [example.org]}}",
            "dns-resolver",
        ),
        (
            route("next-hop-address: 198.51.100.1").replace("length: 24", "length: 32"),
            "routes.config[0].next-hop-address",
        ),
        (
            "interfaces: [{name: b, type: linux-bridge, ipv4: {enabled: true, dhcp: true}}]".to_owned(),
            "interfaces[0].type",
        ),
    ] {
        assert!(network_config(&host(&yaml)).0.is_ok(), "{yaml}");
        let found = refused(network_data, &yaml);
        assert!(found.iter().any(|finding| finding.contains(place)), "{place}: {found:?}");
    }
}

#[test]
fn interfaces_upon_interfaces_come_in_order() {
    let yaml = BOND
        .replace("name: bond0.5", "name: a-vlan")
        .replace("next-hop-interface: bond0.5", "next-hop-interface: a-vlan");
    let found = value(network_data, &yaml);
    let ids: Vec<_> = found["links"].as_array().unwrap().iter().map(|link| link["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["nic1", "nic2", "bond0", "a-vlan"]);
}

#[test]
fn interfaces_are_found_by_their_other_names() {
    let yaml = "interfaces: [{name: nic, profile-name: uplink, type: ethernet, identifier: mac-address, mac-address: \
                '52:54:00:00:00:01'}, {name: storage, type: vlan, vlan: {base-iface: uplink, id: 7}, ipv4: {enabled: true, \
                address: [{ip: 192.0.2.5, prefix-length: 24}]}}]\n\
                routes: {config: [{destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: storage}]}";
    let found = value(network_config, yaml);
    assert_eq!(found["vlans"]["storage"]["link"], "nic");
    assert_eq!(found["ethernets"]["nic"]["match"]["macaddress"], "52:54:00:00:00:01");
    assert_eq!(value(network_data, yaml)["links"][1]["vlan_link"], "nic");
}

/// The host asks them in the order in which they stand there.
#[test]
fn openstack_has_the_name_servers_in_the_order_of_the_document() {
    let nic = |number| {
        format!(
            "{{name: nic{number}, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:0{number}', ipv4: \
             {{enabled: true, address: [{{ip: 192.0.{number}.5, prefix-length: 24}}]}}}}"
        )
    };
    let servers = ["192.0.2.53", "192.0.1.53", "192.0.2.54"];
    let yaml = format!("interfaces: [{}, {}]\ndns-resolver: {{config: {{server: {servers:?}}}}}", nic(1), nic(2));
    let services: Value = servers.iter().map(|server| json!({"type": "dns", "address": server})).collect();
    assert_eq!(value(network_data, &yaml)["services"], services);
}

/// A name of the document stays what the reader calls the interface, and the NIC is found by its address.
#[test]
fn nics_are_found_by_the_addresses_that_are_listed_beside_the_network() {
    let nics = [("nic1", "52:54:00:00:00:01"), ("nic2", "52:54:00:00:00:02")].map(|(name, mac)| NamedNic {
        name: name.to_owned(),
        mac: mac.parse().unwrap(),
        path: DocumentPath::document("list"),
    });
    let mut listed = BOND.to_owned();
    for nic in &nics {
        listed = listed.replace(&format!(", identifier: mac-address, mac-address: '{}'", nic.mac), "");
    }
    assert!(!listed.contains("mac-address"));
    for convert in [network_config as Convert, network_data] {
        let by_hand = convert(&host(BOND)).0.unwrap();
        let by_list = convert(&HostSpec { nics: nics.to_vec(), ..host(&listed) }).0.unwrap();
        assert_eq!(by_list.network_data, by_hand.network_data);
    }
}

/// Which of the two it gets would follow from the order in which somebody reads them.
#[test]
fn an_interface_with_two_mac_addresses_is_refused() {
    let document = "interfaces:
- {name: eth0, type: ethernet, mac-address: '52:54:00:00:00:01'}
- {name: bond0, type: bond, mac-address: '52:54:00:00:00:02', copy-mac-from: eth0, link-aggregation: {mode: 1, port: [eth0]}}
";
    for convert in [network_config as Convert, network_data] {
        let refused = refused(convert, document);
        assert!(refused.iter().any(|line| line.contains("copy-mac-from") && line.contains("ambiguous")), "{refused:?}");
    }
    let same = document.replace(":02'", ":01'");
    assert!(network_config(&host(&same)).0.is_ok());
}

/// As NetworkManager's profiles have it, a port may name its controller, and its controller not the port.
#[test]
fn a_port_that_names_its_controller_is_one_of_its_ports() {
    let listed = "interfaces:
- {name: eth0, type: ethernet}
- {name: br0, type: linux-bridge, bridge: {port: [{name: eth0}]}}
";
    let named = "interfaces:
- {name: eth0, type: ethernet, controller: br0}
- {name: br0, type: linux-bridge}
";
    let ports = |document| value(network_config, document)["bridges"]["br0"]["interfaces"].clone();
    assert_eq!((ports(listed), ports(named)), (json!(["eth0"]), json!(["eth0"])));
}

/// cloud-init's writer of netplan reads routes of static networks only, and the last network of IPv6 switches router
/// advertisements on or off.
#[test]
fn openstack_has_static_networks_before_automatic_ones() {
    let yaml = "
interfaces:
- {name: eth0, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01',
   ipv4: {enabled: true, dhcp: true, address: [{ip: 192.0.2.5, prefix-length: 24}]},
   ipv6: {enabled: true, autoconf: true, dhcp: true, address: [{ip: '2001:db8::5', prefix-length: 64}]}}
routes:
  config:
  - {destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: eth0}
  - {destination: '2001:db8:1::/48', next-hop-address: '2001:db8::1', next-hop-interface: eth0}
";
    let found = value(network_data, yaml);
    let networks = found["networks"].as_array().unwrap().iter();
    let networks: Vec<_> =
        networks.map(|n| (n["type"].as_str().unwrap(), n["routes"].as_array().unwrap().len())).collect();
    assert_eq!(networks, [("ipv4", 1), ("ipv4_dhcp", 0), ("ipv6", 1), ("ipv6_dhcpv6-stateful", 0)]);
}

#[test]
fn netplan_has_search_domains_where_the_network_gives_the_name_servers() {
    let nics = "interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}}, {name: eth1, type: ethernet, \
                ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}}]\ndns-resolver: {config: ";
    let found = value(network_config, &format!("{nics}{{search: [a.example]}}}}"));
    assert_eq!(found["ethernets"]["eth0"]["nameservers"], json!({"search": ["a.example"]}));
    assert_eq!(found["ethernets"]["eth1"].get("nameservers"), None);
    let with_server = value(network_config, &format!("{nics}{{server: [192.0.2.53], search: [a.example]}}}}"));
    assert_eq!(with_server["ethernets"]["eth0"].get("nameservers"), None);
    let all = json!({"addresses": ["192.0.2.53"], "search": ["a.example"]});
    assert_eq!(with_server["ethernets"]["eth1"]["nameservers"], all);
    let without = format!("{nics}{{search: [a.example]}}}}").replace("dhcp: true", "dhcp: false");
    let refused = refused(network_config, &without);
    assert!(refused.iter().any(|line| line.starts_with("dns-resolver.config.search ")), "{refused:?}");
}

#[test]
fn netplan_says_that_a_gateway_beyond_all_networks_is_on_the_link() {
    let yaml = "interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, address: [{ip: 203.0.113.5, prefix-length: \
                32}]}}]\nroutes: {config: [{destination: 0.0.0.0/0, next-hop-address: 172.31.1.1, next-hop-interface: eth0}]}";
    let expected = json!([{"to": "0.0.0.0/0", "via": "172.31.1.1", "on-link": true}]);
    assert_eq!(value(network_config, yaml)["ethernets"]["eth0"]["routes"], expected);
}

/// By itself, netplan has systemd-networkd send a DUID. The DHCP server would give the host another address than in the ramdisk.
#[test]
fn netplan_sends_the_client_id_of_network_manager() {
    let with = |client_id: &str| {
        format!("interfaces: [{{name: eth0, type: ethernet, ipv4: {{enabled: true, dhcp: true{client_id}}}}}]")
    };
    for (client_id, identifier) in [
        ("", "mac"),
        (", dhcp-client-id: ll", "mac"),
        (", dhcp-client-id: LL", "mac"),
        (", dhcp-client-id: iaid+duid", "duid"),
    ] {
        let found = value(network_config, &with(client_id));
        assert_eq!(found["ethernets"]["eth0"]["dhcp-identifier"], identifier, "{client_id}");
    }
    let found = refused(network_config, &with(", dhcp-client-id: '01:02:03'"));
    assert!(found.iter().any(|line| line.starts_with("interfaces[0].ipv4.dhcp-client-id ")), "{found:?}");
    let fixed = "interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}}]";
    assert_eq!(value(network_config, fixed)["ethernets"]["eth0"].get("dhcp-identifier"), None);
    // OpenStack's format has no client ids.
    let nic = "type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'";
    let known = with(", dhcp-client-id: ll").replace("type: ethernet", nic);
    let found = refused(network_data, &known);
    assert!(found.iter().any(|line| line.starts_with("interfaces[0].ipv4.dhcp-client-id ")), "{found:?}");
}
