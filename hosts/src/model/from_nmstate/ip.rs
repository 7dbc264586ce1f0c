//! A family of an interface.

use std::net::IpAddr;

use ipnet::IpNet;

use super::super::{Address, Ip, MAIN_TABLE, Method};
use crate::members::get;
use crate::nmstate_document::interfaces::Interface as Entry;
use crate::nmstate_document::{elements, is_true, mapping, number, text};

/// What the loopback has of `family` besides the addresses that it has on every host.
pub(super) fn of_loopback(entry: &Entry<'_>, family: &str) -> Ip {
    let mut ip = read(entry, family, false);
    ip.method = Method::Static;
    ip.addresses.retain(|address| !address.network.addr().is_loopback());
    ip
}

/// What the entry has of `family`; `routed` says that it has static routes of that family.
pub(super) fn read(entry: &Entry<'_>, family: &str, routed: bool) -> Ip {
    let Some(ip) = mapping(entry.map, family) else { return Ip::disabled(entry.path.clone()) };
    let path = entry.path.key(family);
    if !is_true(get(ip, "enabled")) {
        return Ip::disabled(path);
    }
    let mut addresses = Vec::new();
    for (index, address) in elements(ip, &["address"]).iter().enumerate() {
        let network = address.as_mapping().and_then(|address| {
            let ip: IpAddr = text(address, "ip")?.parse().ok()?;
            IpNet::new(ip, u8::try_from(number(get(address, "prefix-length"))?).ok()?).ok()
        });
        // nmstate leaves link-local addresses of IPv6 to the kernel.
        let kept = network.filter(|network| !matches!(network.addr(), IpAddr::V6(ip) if ip.is_unicast_link_local()));
        addresses.extend(kept.map(|network| Address { network, path: path.key("address").index(index).key("ip") }));
    }
    let is_v6 = family == "ipv6";
    let stated = !addresses.is_empty() || routed;
    let method = match (is_true(get(ip, "dhcp")), is_v6 && is_true(get(ip, "autoconf"))) {
        (_, true) => Method::RouterAdvertisements,
        (true, false) => Method::Dhcp,
        (false, false) if stated => Method::Static,
        (false, false) if is_v6 => Method::LinkLocal,
        (false, false) => Method::Disabled,
    };
    let automatic = matches!(method, Method::Dhcp | Method::RouterAdvertisements);
    let taken = |key| automatic && ip.get(key).is_none_or(|value| value.is_null() || is_true(Some(value)));
    let small = |key| number(get(ip, key)).filter(|_| automatic).and_then(|number| u32::try_from(number).ok());
    Ip {
        method,
        addresses,
        automatic_dns: taken("auto-dns"),
        automatic_routes: taken("auto-routes"),
        automatic_gateway: taken("auto-gateway"),
        automatic_metric: small("auto-route-metric"),
        automatic_table: small("auto-route-table-id").filter(|table| *table != 0).unwrap_or(MAIN_TABLE),
        path,
    }
}
