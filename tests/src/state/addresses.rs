//! Addresses: those that are written down, those that were offered, and those that the kernel gives itself.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::{Comparison, is_up, list, text};

impl Comparison<'_> {
    pub(super) fn addresses(&mut self, name: &str, wanted: &Value, link: &Value) {
        for (family, inet) in [("ipv4", "inet"), ("ipv6", "inet6")] {
            let wanted = &wanted[family];
            let written = written(wanted);
            let there =
                list(&link["addr_info"]).filter(|address| address["family"] == inet || looks_like(address, inet));
            let mut own = BTreeSet::new();
            let mut offered = Vec::new();
            for address in there {
                let said = said(address);
                if address["dynamic"] == true {
                    offered.push(said);
                } else if address["scope"] == "global" || written.contains(&said) {
                    own.insert(said);
                }
            }
            // A written one, which some server has offered as well, is dynamic.
            own.retain(|address| !KERNELS_OWN.contains(&address.as_str()));
            self.expect(&format!("{name}: {family} addresses"), &json!(written), &json!(own));
            if !is_automatic(wanted) {
                for address in offered {
                    self.found.push(format!("{name}: {address} did not come from the document"));
                }
            } else if offered.is_empty() {
                self.found.push(format!("{name}: {family}: no address came from the network"));
            }
        }
    }

    /// IPv6 has a link-local address where it is on, and none where it is off.
    pub(super) fn link_local_addresses(&mut self) {
        for link in list(self.links).filter(|link| link["ifname"] != "lo") {
            let name = text(&link["ifname"]);
            let wanted = self.interface_of(name);
            let family =
                wanted.filter(|interface| is_up(interface)).map_or(&Value::Null, |interface| &interface["ipv6"]);
            let local: Vec<_> =
                list(&link["addr_info"]).filter(|address| address["scope"] == "link").map(said).collect();
            if (family["enabled"] == true) == local.is_empty() {
                self.found.push(format!("{name}: link-local addresses: {local:?}"));
            }
            if family["addr-gen-mode"] == "eui64" && !local.iter().any(|address| address.contains("ff:fe")) {
                self.found.push(format!("{name}: {local:?} is not made of its MAC address"));
            }
            let token = text(&family["token"]).trim_start_matches(':');
            let mut offered = list(&link["addr_info"]).filter(|address| address["dynamic"] == true).map(said);
            if !token.is_empty() && !offered.any(|address| address.ends_with(&format!(":{token}/64"))) {
                self.found.push(format!("{name}: no address has the token"));
            }
        }
    }
}

const KERNELS_OWN: &[&str] = &["127.0.0.1/8", "::1/128"];

/// Whether a family asks the network for addresses.
pub(super) fn is_automatic(family: &Value) -> bool {
    family["enabled"] == true && (family["dhcp"] == true || family["autoconf"] == true)
}

/// The addresses of a family that are written down, without what the kernel has anyway.
pub(super) fn written(family: &Value) -> BTreeSet<String> {
    let addresses = list(&family["address"]).filter(|_| family["enabled"] == true);
    let addresses = addresses.map(|address| format!("{}/{}", text(&address["ip"]), address["prefix-length"]));
    addresses.filter(|address| !KERNELS_OWN.contains(&address.as_str())).collect()
}

/// The addresses of an interface that reach further than its link.
pub(super) fn global(link: &Value) -> BTreeSet<String> {
    list(&link["addr_info"]).filter(|address| address["scope"] == "global").map(said).collect()
}

fn said(address: &Value) -> String {
    format!("{}/{}", text(&address["local"]), address["prefixlen"])
}

/// Without a family it is told by its look.
fn looks_like(address: &Value, inet: &str) -> bool {
    address["family"].is_null() && text(&address["local"]).contains(':') == (inet == "inet6")
}

/// The network of an address, as `ip route` has it: 192.0.2.0/24, and a host without its length.
pub(super) fn network(address: &str) -> String {
    let (ip, length) = address.split_once('/').unwrap_or((address, "128"));
    let (Ok(ip), Ok(length)) = (ip.parse(), length.parse::<u32>()) else { return address.to_owned() };
    match ip {
        IpAddr::V4(ip) if length < 32 => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            format!("{}/{length}", std::net::Ipv4Addr::from_bits(ip.to_bits() & mask))
        }
        IpAddr::V6(ip) if length < 128 => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            format!("{}/{length}", std::net::Ipv6Addr::from_bits(ip.to_bits() & mask))
        }
        _ => ip.to_string(),
    }
}
