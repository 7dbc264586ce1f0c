//! Whether differences are noticed.

use super::*;

const DOCUMENT: &str = "
interfaces:
- {name: uplink-a, type: ethernet, state: up, identifier: mac-address, mac-address: 52:54:00:12:34:01}
- name: bond0
  type: bond
  mtu: 9000
  link-aggregation: {mode: 802.3ad, options: {miimon: '100', lacp_rate: fast}, port: [uplink-a, eth1]}
- name: bond0.20
  type: vlan
  vlan: {base-iface: bond0, id: 20}
  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}
- {name: br0, type: linux-bridge, bridge: {options: {stp: {enabled: false}}, port: [{name: eth2}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: bond0.20, metric: 50}]}
dns-resolver: {config: {server: [192.0.2.53], search: [example.com]}}
";

fn report() -> Value {
    json!({
        "addresses": [
            {"ifname": "lo", "operstate": "UNKNOWN", "addr_info": [{"local": "127.0.0.1", "scope": "host"}]},
            {"ifname": "enp1s0", "operstate": "UP", "master": "bond0", "address": "52:54:00:00:00:99",
                "permaddr": "52:54:00:12:34:01"},
            {"ifname": "eth1", "operstate": "UP", "master": "bond0", "address": "52:54:00:00:00:99"},
            {"ifname": "eth2", "operstate": "UP", "master": "br0"},
            {"ifname": "bond0", "operstate": "UP", "mtu": 9000, "linkinfo": {"info_kind": "bond",
                "info_data": {"mode": "802.3ad", "miimon": 100, "ad_lacp_rate": "fast"}}},
            {"ifname": "bond0.20", "link": "bond0", "operstate": "UP",
                "linkinfo": {"info_kind": "vlan", "info_data": {"id": 20, "flags": ["REORDER_HDR"]}},
                "addr_info": [{"local": "192.0.2.10", "prefixlen": 24, "scope": "global"},
                    {"local": "fe80::1", "prefixlen": 64, "scope": "link"}]},
            {"ifname": "br0", "operstate": "UP", "linkinfo": {"info_kind": "bridge", "info_data": {"stp_state": 0}}},
        ],
        "routes": [{"dst": "default", "gateway": "192.0.2.1", "dev": "bond0.20", "metric": 50}],
        "routes6": [],
        "resolv.conf": ["# Generated", "search example.com", "nameserver 192.0.2.53"],
    })
}

#[test]
fn every_difference_is_said() {
    let document: Value = serde_yaml::from_str(DOCUMENT).unwrap();
    assert_eq!(differences(&document, &Report(report())), [""; 0]);
    let address = json!({"local": "192.0.2.99", "prefixlen": 24, "scope": "global"});
    for (pointer, value, said) in [
        ("/addresses/1/permaddr", json!("52:54:00:12:34:09"), "uplink-a: there is no such interface"),
        ("/addresses/1/master", json!("br0"), "bond0: ports"),
        (
            "/addresses/3",
            json!({"ifname": "eth2", "master": "br0", "addr_info": [address]}),
            "\"eth2\", of which nothing is said",
        ),
        ("/addresses/3/master", json!(null), "br0: ports"),
        ("/addresses/4/operstate", json!("DOWN"), "bond0: state"),
        ("/addresses/4/mtu", json!(1500), "bond0: MTU"),
        ("/addresses/4/linkinfo/info_data/mode", json!("active-backup"), "bond0: mode"),
        ("/addresses/4/linkinfo/info_data/ad_lacp_rate", json!("slow"), "bond0: lacp_rate"),
        ("/addresses/4/linkinfo/info_kind", json!("team"), "bond0: type"),
        ("/addresses/5/link", json!("eth2"), "bond0.20: base"),
        ("/addresses/5/linkinfo/info_data/id", json!(21), "bond0.20: VLAN"),
        ("/addresses/5/addr_info/0/local", json!("192.0.2.11"), "bond0.20: ipv4 addresses"),
        ("/addresses/5/addr_info/0/prefixlen", json!(25), "bond0.20: ipv4 addresses"),
        (
            "/addresses/5/addr_info/0",
            json!({"local": "192.0.2.10", "prefixlen": 24, "scope": "global", "dynamic": true}),
            "did not come from the document",
        ),
        ("/addresses/6/linkinfo/info_data/stp_state", json!(1), "br0: STP"),
        ("/routes/0/gateway", json!("192.0.2.2"), "there is no route"),
        ("/routes/0/metric", json!(51), "there is no route"),
        ("/routes6", json!([{"dst": "default"}]), "number of default routes"),
        ("/resolv.conf/2", json!("nameserver 192.0.2.54"), "name servers"),
        ("/resolv.conf/1", json!("search example.org"), "search domains"),
    ] {
        let mut spoiled = report();
        *spoiled.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        let found = differences(&document, &Report(spoiled));
        assert!(found.iter().any(|difference| difference.contains(said)), "{pointer}: {found:?}");
    }
}

const FULL_DOCUMENT: &str = "
interfaces:
- name: eth0
  type: ethernet
  mac-address: 02:54:00:00:00:01
  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: '2001:db8::10', prefix-length: 64}]}
- {name: eth1, type: ethernet, ipv4: {enabled: true, dhcp: true, auto-gateway: false, auto-dns: false}}
- {name: vrf0, type: vrf, vrf: {port: [eth2], route-table-id: 500}}
- {name: eth2, type: ethernet, ipv4: {enabled: true, address: [{ip: 198.51.100.10, prefix-length: 25}]}}
- {name: eth3.5, type: vlan, vlan: {base-iface: eth3, id: 5, egress-qos-map: [{from: 1, to: 2}]}}
- name: br0
  type: linux-bridge
  bridge: {options: {hello-timer: 1, multicast-query-interval: 99}, port: [{name: eth4, stp-path-cost: 7, vlan: {mode: access, tag: 20}}]}
- {name: eth5, type: ethernet, state: down}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0, table-id: 200, mtu: 1400}
  - {destination: 10.0.0.0/8, next-hop-address: 198.51.100.1, next-hop-interface: eth2}
  - {destination: 10.66.0.0/16, route-type: blackhole}
route-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 200, priority: 100}, {family: ipv6, route-table: 254, priority: 101}]}
dns-resolver: {config: {server: ['2001:db8::53'], options: [rotate]}}
";

fn full_report() -> Value {
    let link = |name: &str, addresses: Value| json!({"ifname": name, "operstate": "UP", "linkinfo": {"info_kind": "veth"}, "addr_info": addresses});
    let static_address = |local: &str, length: u8| json!({"local": local, "prefixlen": length, "scope": "global"});
    let mut links = vec![
        link(
            "eth0",
            json!([static_address("192.0.2.10", 24), static_address("2001:db8::10", 64),
            {"local": "fe80::1", "prefixlen": 64, "scope": "link"}]),
        ),
        link("eth1", json!([{"local": "10.99.0.100", "prefixlen": 24, "scope": "global", "dynamic": true}])),
        link("vrf0", json!([])),
        link("eth2", json!([static_address("198.51.100.10", 25)])),
        link("eth3", json!([])),
        link("eth3.5", json!([])),
        link("br0", json!([])),
        link("eth4", json!([])),
        link("eth5", json!([])),
    ];
    links[0]["address"] = json!("02:54:00:00:00:01");
    links[2]["linkinfo"] = json!({"info_kind": "vrf", "info_data": {"table": 500}});
    links[3]["master"] = json!("vrf0");
    links[3]["linkinfo"]["info_slave_data"] = json!({"table": 500});
    links[5]["link"] = json!("eth3");
    links[5]["linkinfo"] = json!({"info_kind": "vlan",
        "info_data": {"id": 5, "flags": ["REORDER_HDR"], "egress_qos": [{"from": 1, "to": 2}]}});
    links[6]["linkinfo"] = json!({"info_kind": "bridge", "info_data": {"mcast_query_intvl": 98}});
    links[7]["master"] = json!("br0");
    links[7]["linkinfo"]["info_slave_data"] = json!({"cost": 7});
    json!({
        "addresses": links,
        "nics": ["eth0", "eth1", "eth2", "eth3", "eth4", "eth5"],
        "vlans": [{"ifname": "eth4",
            "vlans": [{"vlan": 1, "flags": ["Egress Untagged"]}, {"vlan": 20, "flags": ["PVID", "Egress Untagged"]}]}],
        "routes": [
            {"type": "unicast", "dst": "default", "gateway": "192.0.2.1", "dev": "eth0", "table": "200", "protocol": "static",
                "metrics": [{"mtu": 1400}]},
            {"type": "unicast", "dst": "10.0.0.0/8", "gateway": "198.51.100.1", "dev": "eth2", "table": "500"},
            {"type": "blackhole", "dst": "10.66.0.0/16", "table": "main"},
            {"type": "unicast", "dst": "192.0.2.0/24", "dev": "eth0", "table": "main", "protocol": "kernel"},
            {"type": "unicast", "dst": "198.51.100.0/25", "dev": "eth2", "table": "500", "protocol": "kernel"},
            {"type": "unicast", "dst": "10.99.0.0/24", "dev": "eth1", "table": "main", "protocol": "kernel"},
            {"type": "local", "dst": "192.0.2.10", "dev": "eth0", "table": "local", "protocol": "kernel"},
        ],
        "routes6": [
            {"type": "unicast", "dst": "2001:db8::/64", "dev": "eth0", "table": "main", "protocol": "kernel"},
            {"type": "unicast", "dst": "fe80::/64", "dev": "eth0", "table": "main", "protocol": "kernel"},
        ],
        "rules": [
            {"priority": 0, "src": "all", "table": "local"},
            {"priority": 100, "src": "192.0.2.0", "srclen": 24, "table": "200", "protocol": "static"},
            {"priority": 1000, "src": "all", "l3mdev": null},
        ],
        "rules6": [{"priority": 101, "src": "all", "table": "main", "protocol": "static"}],
        "resolv.conf": ["nameserver 2001:db8::53", "options rotate"],
        "offered": {"ipv4": "10.99.0.53", "ipv6": "2001:db8:99::53", "domain": "offered.example"},
    })
}

#[test]
fn nothing_else_may_be_there() {
    let document: Value = serde_yaml::from_str(FULL_DOCUMENT).unwrap();
    assert_eq!(all_differences(&document, &Report(full_report())), [""; 0]);
    let offered = json!({"type": "unicast", "dst": "default", "dev": "eth1", "table": "main", "protocol": "dhcp"});
    for (pointer, value, said) in [
        ("/addresses/0/address", json!("52:54:00:00:00:01"), "eth0: MAC"),
        ("/addresses/0/addr_info/2/scope", json!("global"), "eth0: ipv6 addresses"),
        ("/addresses/0/addr_info/2", json!({}), "eth0: link-local"),
        ("/addresses/0/addr_info/0/prefixlen", json!(25), "eth0: ipv4 addresses"),
        ("/addresses/1/addr_info/0/dynamic", json!(false), "eth1: ipv4 addresses"),
        ("/addresses/1/addr_info", json!([]), "eth1: ipv4: no address came"),
        ("/addresses/2/linkinfo/info_data/table", json!(501), "vrf0: table"),
        ("/addresses/3/master", json!(null), "vrf0: ports"),
        ("/addresses/4/ifname", json!("eth9"), "there is eth9"),
        ("/addresses/7/master", json!("vrf0"), "br0: ports"),
        ("/addresses/5/linkinfo/info_data/egress_qos", json!(null), "eth3.5: egress-qos-map"),
        ("/addresses/5/linkinfo/info_data/flags", json!(["REORDER_HDR", "MVRP"]), "eth3.5: MVRP"),
        ("/addresses/6/linkinfo/info_data/mcast_query_intvl", json!(97), "br0: multicast-query-interval"),
        ("/addresses/7/linkinfo/info_slave_data/cost", json!(8), "stp-path-cost"),
        (
            "/addresses/8/addr_info",
            json!([{"local": "192.0.2.5", "prefixlen": 24, "scope": "global"}]),
            "is to be down",
        ),
        ("/vlans/0/vlans/1/flags", json!(["Egress Untagged"]), "VLANs"),
        ("/vlans/0/vlans/0/vlan", json!(2), "VLANs"),
        ("/routes/0/table", json!("main"), "there is no route"),
        ("/routes/0/metrics/0/mtu", json!(1300), "there is no route"),
        ("/routes/1/table", json!("main"), "nobody asked for the route"),
        ("/routes/2/type", json!("unreachable"), "nobody asked for the route"),
        ("/routes/3/dst", json!("192.0.2.0/25"), "no route to the network"),
        ("/routes/5/dst", json!("10.98.0.0/24"), "nobody asked for the route"),
        ("/routes/6", offered, "nobody asked for the route"),
        ("/rules/1/table", json!("201"), "there is no rule"),
        ("/rules/1/priority", json!(99), "nobody asked for the rule"),
        ("/rules/2", json!({"priority": 30, "src": "all", "table": "main"}), "nobody asked for the rule"),
        ("/rules6", json!([]), "there is no rule"),
        ("/resolv.conf", json!(["nameserver 2001:db8::53", "nameserver 10.99.0.53", "options rotate"]), "name servers"),
        ("/resolv.conf/1", json!("search offered.example"), "search domains"),
        ("/resolv.conf/1", json!(""), "resolver options"),
    ] {
        let mut spoiled = full_report();
        *spoiled.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        let found = all_differences(&document, &Report(spoiled));
        assert!(found.iter().any(|difference| difference.contains(said)), "{pointer}: {found:?}");
    }
}
