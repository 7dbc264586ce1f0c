//! The static addresses that a host will have.

use std::net::IpAddr;

use hosts::model::Topology;

/// The maximum number of addresses, more than any host has.
const MAX_ADDRESSES: usize = 64;

/// Returns the addresses of the interfaces that come up, without link-local and loopback addresses.
pub fn static_addresses(topology: &Topology) -> Vec<IpAddr> {
    let active = topology.interfaces.iter().filter(|interface| interface.active);
    let addresses = active.flat_map(|interface| interface.ipv4.addresses.iter().chain(&interface.ipv6.addresses));
    let mut found = Vec::new();
    for address in
        addresses.map(|address| address.network.addr()).filter(|address| !is_local(address)).take(MAX_ADDRESSES)
    {
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
    use vocabulary::report::DocumentPath;

    use super::*;

    #[test]
    fn global_addresses_of_active_interfaces_are_found() {
        let profile =
            |name: &str, rest: &str| format!("[connection]\nid={name}\ntype=ethernet\ninterface-name={name}\n{rest}\n");
        let profiles = [
            profile(
                "bond0.10",
                "[ipv4]\nmethod=manual\naddress1=192.0.2.10/24\naddress2=192.0.2.10/25\n[ipv6]\nmethod=manual\naddress1=fe80::1/64\naddress2=2001:db8::10/64",
            ),
            profile("eth1", "[ipv4]\nmethod=disabled\naddress1=192.0.2.11/24"),
            profile("eth2", "[ipv4]\nmethod=auto"),
            profile("eth3", "autoconnect=false\n[ipv4]\nmethod=manual\naddress1=192.0.2.12/24"),
        ];
        let profiles = profiles.iter().map(|content| (DocumentPath::root(), content.as_str()));
        let found = static_addresses(&Topology::from_profiles(profiles, None));
        assert_eq!(found, ["192.0.2.10".parse::<IpAddr>().unwrap(), "2001:db8::10".parse().unwrap()]);
    }
}
