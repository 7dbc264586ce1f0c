//! The static addresses that a host will have, as its NMState says.

use std::net::IpAddr;

use serde_yaml::Value;

/// More than a host has.
const MOST: usize = 64;

/// The addresses in `interfaces[].ipv4.address[].ip` and the same of IPv6, but those that mean something on a link only.
pub fn static_addresses(nmstate: &Value) -> Vec<IpAddr> {
    let interfaces = nmstate.get("interfaces").and_then(Value::as_sequence).into_iter().flatten();
    let families = interfaces.flat_map(|interface| ["ipv4", "ipv6"].map(|family| interface.get(family)));
    let enabled = families.flatten().filter(|ip| ip.get("enabled").and_then(Value::as_bool) == Some(true));
    let lists = enabled.filter_map(|ip| ip.get("address")?.as_sequence()).flatten();
    let addresses = lists.filter_map(|address| address.get("ip")?.as_str()?.parse().ok());
    let mut found = Vec::new();
    for address in addresses.filter(|address| !is_local(address)).take(MOST) {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

fn is_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_unspecified() || address.is_loopback(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.is_unspecified() || address.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_and_nothing_else() {
        let nmstate = "
interfaces:
- name: bond0.10
  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}, {ip: 192.0.2.10, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: 'fe80::1', prefix-length: 64}, {ip: '2001:db8::10', prefix-length: 64}]}
- name: eth1
  ipv4: {enabled: false, address: [{ip: 192.0.2.11, prefix-length: 24}]}
- name: eth2
  ipv4: {enabled: true, dhcp: true}
- 7
";
        let found = static_addresses(&serde_yaml::from_str(nmstate).unwrap());
        assert_eq!(found, ["192.0.2.10".parse::<IpAddr>().unwrap(), "2001:db8::10".parse().unwrap()]);
        for odd in ["{}", "interfaces: 7", "interfaces: [{ipv4: {enabled: true, address: [{ip: 7}, {ip: x}]}}]"] {
            assert!(static_addresses(&serde_yaml::from_str(odd).unwrap()).is_empty(), "{odd}");
        }
    }
}
