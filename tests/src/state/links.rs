//! What links are, beyond their addresses: bonds, bridges, VLANs and so on.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Comparison, list, own_mac_address, plain, text};

/// Options of bridges: NMState's name, the kernel's, and how much of the kernel's is one of NMState's.
const BRIDGE_OPTIONS: &[(&str, &str, u64)] = &[
    ("group-addr", "group_addr", 1),
    ("group-forward-mask", "group_fwd_mask", 1),
    ("hash-max", "mcast_hash_max", 1),
    ("multicast-last-member-count", "mcast_last_member_cnt", 1),
    ("multicast-last-member-interval", "mcast_last_member_intvl", 1),
    ("multicast-membership-interval", "mcast_membership_intvl", 1),
    ("multicast-querier", "mcast_querier", 1),
    ("multicast-querier-interval", "mcast_querier_intvl", 1),
    ("multicast-query-interval", "mcast_query_intvl", 1),
    ("multicast-query-response-interval", "mcast_query_response_intvl", 1),
    ("multicast-query-use-ifaddr", "mcast_query_use_ifaddr", 1),
    ("multicast-router", "mcast_router", 1),
    ("multicast-snooping", "mcast_snooping", 1),
    ("multicast-startup-query-count", "mcast_startup_query_cnt", 1),
    ("multicast-startup-query-interval", "mcast_startup_query_intvl", 1),
    ("vlan-protocol", "vlan_protocol", 1),
    ("vlan-default-pvid", "vlan_default_pvid", 1),
];

/// The same of their spanning trees: in hundredths of a second.
const STP_OPTIONS: &[(&str, &str, u64)] = &[
    ("enabled", "stp_state", 1),
    ("forward-delay", "forward_delay", 100),
    ("hello-time", "hello_time", 100),
    ("max-age", "max_age", 100),
    ("priority", "priority", 1),
];

const PORT_OPTIONS: &[(&str, &str, u64)] =
    &[("stp-hairpin-mode", "hairpin", 1), ("stp-path-cost", "cost", 1), ("stp-priority", "priority", 1)];

/// Features of NICs that `ethtool` has another name for.
const FEATURES: &[(&str, &str)] =
    &[("rx-gro", "generic-receive-offload"), ("tx-generic-segmentation", "generic-segmentation-offload")];

impl Comparison<'_> {
    pub(super) fn kind(&mut self, name: &str, wanted: &Value, link: &Value) {
        let (kind, data) = (&link["linkinfo"]["info_kind"], &link["linkinfo"]["info_data"]);
        let expected = match text(&wanted["type"]) {
            "linux-bridge" => "bridge",
            "mac-vlan" => "macvlan",
            "mac-vtap" => "macvtap",
            "ethernet" | "" | "loopback" => return self.ethernet(name, wanted, link),
            other => other,
        };
        self.expect(&format!("{name}: type"), &json!(expected), kind);
        match expected {
            "bond" => self.bond(name, &wanted["link-aggregation"], link),
            "bridge" => self.bridge(name, &wanted["bridge"], link),
            "vlan" => self.vlan(name, &wanted["vlan"], link),
            "vrf" => {
                self.expect(&format!("{name}: table"), &wanted["vrf"]["route-table-id"], &data["table"]);
                self.ports(name, list(&wanted["vrf"]["port"]).map(text).collect(), link);
            }
            "vxlan" => {
                let wanted = &wanted["vxlan"];
                for (option, field) in [
                    ("id", "id"),
                    ("remote", "remote"),
                    ("local", "local"),
                    ("destination-port", "port"),
                    ("learning", "learning"),
                ] {
                    self.option(&format!("{name}: {option}"), &wanted[option], &data[field], 1);
                }
                self.base(name, &wanted["base-iface"], &data["link"]);
            }
            "macvlan" | "macvtap" => {
                let wanted = &wanted[text(&wanted["type"])];
                self.expect(&format!("{name}: mode"), &wanted["mode"], &data["mode"]);
                self.base(name, &wanted["base-iface"], &link["link"]);
            }
            "veth" => self.base(name, &wanted["veth"]["peer"], &link["link"]),
            _ => {}
        }
    }

    /// The address that the document gives an interface, or that of the NIC that it names.
    pub(super) fn mac_address(&mut self, name: &str, wanted: &Value, link: &Value) {
        let mac = match wanted["copy-mac-from"].as_str() {
            Some(source) => self.link_of(source).map_or("", own_mac_address),
            None if wanted["identifier"] == "mac-address" => return,
            None => text(&wanted["mac-address"]),
        };
        if !mac.is_empty() {
            self.expect(&format!("{name}: MAC"), &json!(mac.to_ascii_lowercase()), &link["address"]);
        }
    }

    fn ethernet(&mut self, name: &str, wanted: &Value, link: &Value) {
        if wanted["accept-all-mac-addresses"] == true && link["promiscuity"] == 0 {
            self.found.push(format!("{name}: it does not accept all MAC addresses"));
        }
        for (feature, value) in wanted["ethtool"]["feature"].as_object().into_iter().flatten() {
            let known = FEATURES.iter().find(|(own, _)| own == feature).map_or(feature.as_str(), |(_, known)| known);
            let line = format!("{} {known}: {}", text(&link["ifname"]), if *value == true { "on" } else { "off" });
            if !list(&self.report["features"]).any(|said| *said == line) {
                self.found.push(format!("{name}: it is not said that {line}"));
            }
        }
    }

    fn bond(&mut self, name: &str, wanted: &Value, link: &Value) {
        let data = &link["linkinfo"]["info_data"];
        self.expect(&format!("{name}: mode"), &wanted["mode"], &data["mode"]);
        self.ports(name, list(&wanted["port"]).map(text).collect(), link);
        for (option, value) in wanted["options"].as_object().into_iter().flatten() {
            let what = format!("{name}: {option}");
            match option.as_str() {
                "lacp_rate" => self.option(&what, value, &data["ad_lacp_rate"], 1),
                "lacp_active" => {
                    self.option(&what, &json!(if *value == true { "on" } else { "off" }), &data["ad_lacp_active"], 1)
                }
                "all_slaves_active" => self.option(&what, &json!(u8::from(*value == "delivered")), &data[option], 1),
                "primary" => self.option(&what, &json!(self.own_name(text(value)).to_owned()), &data[option], 1),
                "arp_ip_target" => {
                    let have: Vec<_> = list(&data[option]).map(text).collect();
                    self.option(&what, value, &json!(have.join(",")), 1);
                }
                // `ip` does not say.
                "num_grat_arp" | "num_unsol_na" => {
                    let line = format!("{}/bonding/{option}:{}", text(&link["ifname"]), plain(value));
                    if !list(&self.report["sysfs"]).any(|said| *said == line) {
                        self.found.push(format!("{what}: sysfs does not say {line}"));
                    }
                }
                _ => self.option(&what, value, &data[option], 1),
            }
        }
        for port in list(&wanted["ports-config"]) {
            let data =
                self.link_of(text(&port["name"])).map_or(&Value::Null, |link| &link["linkinfo"]["info_slave_data"]);
            for (option, field) in [("priority", "prio"), ("queue-id", "queue_id")] {
                self.option(&format!("{name}: {}: {option}", port["name"]), &port[option], &data[field], 1);
            }
        }
    }

    fn bridge(&mut self, name: &str, wanted: &Value, link: &Value) {
        let data = &link["linkinfo"]["info_data"];
        self.ports(name, list(&wanted["port"]).map(|port| text(&port["name"])).collect(), link);
        let (options, stp) = (&wanted["options"], &wanted["options"]["stp"]);
        for (wanted, known, about) in [(options, BRIDGE_OPTIONS, ""), (stp, STP_OPTIONS, "STP ")] {
            for (option, field, unit) in known {
                self.option(&format!("{name}: {about}{option}"), &wanted[option], &data[field], *unit);
            }
        }
        if let Some(age) = options["mac-ageing-time"].as_u64() {
            // While the tree changes it is another.
            let line = format!("{}/bridge/ageing_time:{}", text(&link["ifname"]), age * 100);
            if !list(&self.report["sysfs"]).any(|said| *said == line) && data["topology_change"] != 1 {
                self.found.push(format!("{name}: mac-ageing-time: sysfs does not say {line}"));
            }
        }
        for port in list(&wanted["port"]) {
            let data =
                self.link_of(text(&port["name"])).map_or(&Value::Null, |link| &link["linkinfo"]["info_slave_data"]);
            for (option, field, unit) in PORT_OPTIONS {
                self.option(&format!("{name}: {}: {option}", port["name"]), &port[option], &data[field], *unit);
            }
        }
    }

    fn vlan(&mut self, name: &str, wanted: &Value, link: &Value) {
        let data = &link["linkinfo"]["info_data"];
        self.expect(&format!("{name}: VLAN"), &wanted["id"], &data["id"]);
        self.base(name, &wanted["base-iface"], &link["link"]);
        if let Some(protocol) = wanted["protocol"].as_str() {
            let have = text(&data["protocol"]).to_ascii_lowercase();
            self.expect(&format!("{name}: protocol"), &json!(protocol), &json!(have));
        }
        let flags: BTreeSet<_> = list(&data["flags"]).map(text).collect();
        for (is_wanted, flag) in [
            (wanted["registration-protocol"] == "gvrp", "GVRP"),
            (wanted["registration-protocol"] == "mvrp", "MVRP"),
            (wanted["loose-binding"] == true, "LOOSE_BINDING"),
            (wanted["reorder-headers"] != false, "REORDER_HDR"),
        ] {
            self.expect(&format!("{name}: {flag}"), &json!(is_wanted), &json!(flags.contains(flag)));
        }
        for (option, field) in [("ingress-qos-map", "ingress_qos"), ("egress-qos-map", "egress_qos")] {
            let wanted = wanted.get(option).filter(|map| list(map).next().is_some()).unwrap_or(&Value::Null);
            self.expect(&format!("{name}: {option}"), wanted, &data[field]);
        }
    }

    pub(super) fn ports(&mut self, name: &str, wanted: BTreeSet<&str>, link: &Value) {
        let wanted: BTreeSet<_> = wanted.iter().map(|port| self.own_name(port)).collect();
        let ports = list(self.links).filter(|port| port["master"] == link["ifname"]);
        let ports: BTreeSet<_> = ports.map(|port| text(&port["ifname"])).collect();
        self.expect(&format!("{name}: ports"), &json!(wanted), &json!(ports));
    }

    fn base(&mut self, name: &str, wanted: &Value, have: &Value) {
        let base = json!(self.own_name(text(wanted)));
        self.expect(&format!("{name}: base"), &base, have);
    }

    /// A value in the document's words against one in the kernel's. What is not in the document is not compared.
    fn option(&mut self, what: &str, wanted: &Value, have: &Value, unit: u64) {
        let number = |value: &Value| match value {
            Value::Bool(on) => Some(u64::from(*on)),
            Value::Number(number) => number.as_u64(),
            Value::String(said) => {
                said.strip_prefix("0x").map_or_else(|| said.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
            }
            _ => None,
        };
        let same = match (number(wanted), number(have)) {
            // Where the kernel counts in ticks of its own clock, its answer may be one less.
            (Some(wanted), Some(have)) => {
                (wanted * unit).abs_diff(have) <= u64::from(unit == 1 && what.contains("-interval"))
            }
            _ => match (text(wanted), have) {
                ("enabled", Value::Number(_)) => have == 2,
                _ => plain(wanted).eq_ignore_ascii_case(&plain(have)),
            },
        };
        if !wanted.is_null() && !same {
            self.found.push(format!("{what}: {wanted} is wanted, {have} is there"));
        }
    }
}
