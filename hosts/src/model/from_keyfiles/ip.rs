//! A family of a profile: `[ipv4]` or `[ipv6]`.

use std::net::IpAddr;

use ipnet::IpNet;

use super::section::Section;
use crate::family::Family;
use crate::model::{Address, Ip, Kind, MAIN_TABLE, Method};

/// What NetworkManager takes for the length of an address's prefix that says none.
fn usual_prefix(family: Family) -> u8 {
    match family {
        Family::V4 => 24,
        Family::V6 => 64,
    }
}

/// What a profile says of a family; `has_ip` is whether its interface has any.
pub(super) fn read(section: &Section<'_, '_>, family: Family, kind: &Kind, has_ip: bool) -> Ip {
    let path = section.path.clone();
    if !has_ip {
        return Ip::disabled(path);
    }
    let method = method(section, family, kind);
    if method == Method::Disabled {
        return Ip::disabled(path);
    }
    let automatic = matches!(method, Method::Dhcp | Method::RouterAdvertisements);
    let kept = |key| !section.flag(key).unwrap_or(false);
    let sends_hostname = automatic && section.flag("dhcp-send-hostname").unwrap_or(true);
    let dhcp_hostname = section.text("dhcp-hostname").or_else(|| section.text("dhcp-fqdn"));
    Ip {
        method,
        addresses: addresses(section, family).filter(|address| !is_own_of_loopback(kind, address)).collect(),
        automatic_dns: automatic && kept("ignore-auto-dns"),
        automatic_routes: automatic && kept("ignore-auto-routes"),
        automatic_gateway: automatic && kept("never-default"),
        metric: section.parsed("route-metric"),
        automatic_table: table(section).filter(|_| automatic).unwrap_or(MAIN_TABLE),
        dhcp_duid: automatic && family == Family::V4 && section.text("dhcp-client-id").as_deref() == Some("duid"),
        sends_hostname,
        dhcp_hostname: dhcp_hostname.filter(|_| sends_hostname),
        token: section.parsed("token").filter(|_| automatic && family == Family::V6),
        path,
    }
}

/// The table that a profile names for its routes.
pub(super) fn table(section: &Section<'_, '_>) -> Option<u32> {
    section.parsed("route-table").filter(|table| *table != 0)
}

fn method(section: &Section<'_, '_>, family: Family, kind: &Kind) -> Method {
    let method = section.text("method");
    match (method.as_deref(), family) {
        (Some("disabled"), _) => Method::Disabled,
        (Some("manual" | "shared"), _) => Method::Static,
        (Some("dhcp"), Family::V6) => Method::Dhcp,
        // With "ignore", the kernel does with the link what it does by itself.
        (Some("link-local" | "ignore"), _) => Method::LinkLocal,
        // The loopback has its addresses whatever its profile says.
        _ if *kind == Kind::Loopback => Method::Static,
        (_, Family::V4) => Method::Dhcp,
        (_, Family::V6) => Method::RouterAdvertisements,
    }
}

fn addresses(section: &Section<'_, '_>, family: Family) -> impl Iterator<Item = Address> {
    let entries = section.numbered(&["address", "addresses"]).into_iter();
    entries.filter_map(move |(key, value)| {
        let mut fields = fields(&value);
        let network = network(fields.next()?, || fields.next()?.parse().ok(), family)?;
        Some(Address { network, path: section.at(key) })
    })
}

/// The gateway that stands behind an address, as older profiles have it.
pub(super) fn gateway_of_address(section: &Section<'_, '_>, family: Family) -> Option<(String, IpAddr)> {
    section.numbered(&["address", "addresses"]).into_iter().find_map(|(key, value)| {
        let mut fields = fields(&value);
        if !fields.next()?.contains('/') {
            fields.next()?;
        }
        Some((key.to_owned(), address(fields.next()?, family)?))
    })
}

/// The parts of a value such as `192.0.2.0/24,192.0.2.1,100`; in older profiles, a `;` stands between them.
pub(super) fn fields(value: &str) -> impl Iterator<Item = &str> {
    value.split([',', ';']).map(str::trim)
}

/// An address of the family that is one: `0.0.0.0` and `::` stand for none.
pub(super) fn address(text: &str, family: Family) -> Option<IpAddr> {
    // Where an address means something on a link only, the link may stand behind it.
    let bare = text.split_once('%').map_or(text, |(bare, _)| bare);
    bare.parse().ok().filter(|address: &IpAddr| !address.is_unspecified() && Family::of(*address) == family)
}

/// `192.0.2.10/24`; without the `/`, the prefix's length is what `next` gives.
pub(super) fn network(text: &str, next: impl FnOnce() -> Option<u8>, family: Family) -> Option<IpNet> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.trim().parse().ok()?)),
        None => (text, next()),
    };
    let address: IpAddr = address.trim().parse().ok()?;
    let network = IpNet::new(address, prefix.unwrap_or(usual_prefix(family))).ok()?;
    (Family::of(address) == family).then_some(network)
}

/// Whether it is an address that the loopback has on every host.
fn is_own_of_loopback(kind: &Kind, address: &Address) -> bool {
    *kind == Kind::Loopback && address.is_usual_of_loopback()
}
