//! Fleets of hosts.

use std::fmt::Write as _;
use std::ops::Range;

/// A fleet whose hosts have a bond and two VLANs.
pub(crate) fn fleet(hosts: Range<usize>) -> String {
    let template = serde_json::json!({"network": {
        "interfaces": [
            {"name": "bond0", "type": "bond", "state": "up", "link-aggregation": {"mode": "active-backup", "port": ["eno1", "eno2"]}},
            {"name": "bond0.10", "type": "vlan", "state": "up", "vlan": {"base-iface": "bond0", "id": 10},
             "ipv4": {"enabled": true, "address": [{"ip": "${a}", "prefix-length": 16}]}},
            {"name": "bond0.20", "type": "vlan", "state": "up", "vlan": {"base-iface": "bond0", "id": 20},
             "ipv4": {"enabled": true, "address": [{"ip": "${b}", "prefix-length": 16}]}},
        ],
        "routes": {"config": [{"destination": "0.0.0.0/0", "next-hop-address": "10.10.255.254", "next-hop-interface": "bond0.10"}]},
        "dns-resolver": {"config": {"server": ["10.10.0.1"]}},
    }});
    let mut csv = "name,a,b\n".to_owned();
    for host in hosts {
        let (high, low) = (host / 200, host % 200 + 10);
        writeln!(csv, "host-{host},10.10.{high}.{low},10.20.{high}.{low}").expect("a String takes everything");
    }
    let spec = serde_json::json!({"hosts": {"csv": csv}, "template": template});
    let kind = ("dayone.metal3.io/v1alpha1", "HostFleet");
    serde_json::json!({"apiVersion": kind.0, "kind": kind.1, "metadata": {"name": "racks"}, "spec": spec}).to_string()
}
