//! A family of an interface.

use std::net::IpAddr;

use ipnet::IpNet;

use super::super::{Address, Ip, MAIN_TABLE, Method};
use crate::family::Family;
use crate::members::get;
use crate::nmstate_document::interfaces::Interface as Entry;
use crate::nmstate_document::{elements, flag, is_true, mapping, number, small, text};

/// What the loopback has of `family` besides the addresses that it has on every host.
pub(super) fn of_loopback(entry: &Entry<'_>, family: Family) -> Ip {
    let mut ip = read(entry, family, false);
    ip.method = Method::Static;
    ip.addresses.retain(|address| !address.is_usual_of_loopback());
    ip
}

/// What the entry has of `family`; `routed` says that it has static routes of that family.
pub(super) fn read(entry: &Entry<'_>, family: Family, routed: bool) -> Ip {
    let Some(ip) = mapping(entry.map, family.key()) else { return Ip::disabled(entry.path.clone()) };
    let path = entry.path.key(family.key());
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
    let is_v6 = family == Family::V6;
    let is_static = !addresses.is_empty() || routed;
    let autoconf = flag(ip, "autoconf").filter(|_| is_v6);
    let method = match (is_true(get(ip, "dhcp")), autoconf == Some(true)) {
        (_, true) => Method::RouterAdvertisements,
        (true, false) => Method::Dhcp,
        (false, false) if is_static => Method::Static,
        (false, false) if is_v6 => Method::LinkLocal,
        (false, false) => Method::Disabled,
    };
    let automatic = matches!(method, Method::Dhcp | Method::RouterAdvertisements);
    let takes = |key| automatic && flag(ip, key) != Some(false);
    let sends_hostname = takes("dhcp-send-hostname");
    // nmstate drops the first where the document turns router advertisements off, and the second for IPv6.
    let automatic_metric = small(ip, "auto-route-metric").filter(|_| automatic && autoconf != Some(false));
    let prefix_metric = small(ip, "prefix-route-metric").filter(|_| !is_v6);
    let token = text(ip, "token").and_then(|token| token.parse().ok());
    Ip {
        addresses,
        automatic_dns: takes("auto-dns"),
        automatic_routes: takes("auto-routes"),
        automatic_gateway: takes("auto-gateway"),
        metric: automatic_metric.or(prefix_metric),
        automatic_table: small(ip, "auto-route-table-id")
            .filter(|table| automatic && *table != 0)
            .unwrap_or(MAIN_TABLE),
        // nmstate passes on other words as they are, and `duid` is NetworkManager's word.
        dhcp_duid: !is_v6
            && method == Method::Dhcp
            && matches!(text(ip, "dhcp-client-id"), Some("iaid+duid" | "IAID+DUID" | "duid")),
        sends_hostname,
        dhcp_hostname: text(ip, "dhcp-custom-hostname")
            .filter(|name| sends_hostname && !name.is_empty())
            .map(str::to_owned),
        token: token.filter(|token: &std::net::Ipv6Addr| is_v6 && automatic && !token.is_unspecified()),
        method,
        path,
    }
}
