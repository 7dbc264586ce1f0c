//! Addresses, gateways and name servers of a command.

use ipnet::IpNet;

use super::{Contradiction, list, values};
use crate::answers::kickstart::command::Command;
use crate::family::Family;
use crate::model::{Interface, Ip, Method, Topology};

/// The prefix length of `--ipv6` without one.
const IPV6_PREFIX: u8 = 64;
/// The sources from which a host learns its name servers.
const OF_THE_NETWORK: &str = "the name servers of the network";

/// Returns what a command and the documents do not agree on.
pub(super) fn contradictions(command: &Command, interface: &Interface, topology: &Topology) -> Vec<Contradiction> {
    let mut found = Vec::new();
    ipv4(command, &interface.ipv4, &mut found);
    ipv6(command, &interface.ipv6, &mut found);
    gateways(command, interface, topology, &mut found);
    name_servers(command, interface, topology, &mut found);
    found
}

fn ipv4(command: &Command, ip: &Ip, found: &mut Vec<Contradiction>) {
    if command.has("--noipv4") {
        if has_any(ip) {
            found.push(Contradiction::of_option("--noipv4", method(ip)));
        }
        return;
    }
    // Without the option, it is DHCP.
    let given = command.value("--bootproto").unwrap_or("dhcp");
    let is_same = match given {
        "dhcp" | "bootp" => ip.method == Method::Dhcp,
        "static" => ip.method == Method::Static && !ip.addresses.is_empty(),
        _ => false,
    };
    if !is_same {
        found.push(Contradiction::new("--bootproto", given, method(ip)));
        return;
    }
    if given != "static" {
        return;
    }
    let Some(address) = command.value("--ip") else { return };
    if address.contains('/') {
        let wanted = format!("{}; --ip takes no prefix length, and --netmask takes the netmask", addresses(ip));
        found.push(Contradiction::new("--ip", address, wanted));
        return;
    }
    let mut same = ip.addresses.iter().filter(|own| address.parse() == Ok(own.network.addr())).peekable();
    if same.peek().is_none() {
        found.push(Contradiction::new("--ip", address, addresses(ip)));
    } else if let Some(mask) = command.value("--netmask")
        && !same.any(|own| mask.parse() == Ok(own.network.netmask()) || mask.parse() == Ok(own.network.prefix_len()))
    {
        found.push(Contradiction::new("--netmask", mask, addresses(ip)));
    }
}

fn ipv6(command: &Command, ip: &Ip, found: &mut Vec<Contradiction>) {
    if command.has("--noipv6") && has_any(ip) {
        found.push(Contradiction::of_option("--noipv6", method(ip)));
    }
    let Some(given) = command.value("--ipv6") else { return };
    let is_same = match given {
        "auto" => ip.method == Method::RouterAdvertisements,
        "dhcp" => ip.method == Method::Dhcp,
        _ => {
            let without_length = || IpNet::new(given.parse().ok()?, IPV6_PREFIX).ok();
            let given = given.parse().ok().or_else(without_length);
            ip.addresses.iter().any(|own| Some(own.network) == given)
        }
    };
    if !is_same {
        found.push(Contradiction::new("--ipv6", given, method(ip)));
    }
}

fn gateways(command: &Command, interface: &Interface, topology: &Topology, found: &mut Vec<Contradiction>) {
    // Anaconda makes the gateway a default route of the command's device.
    let defaults =
        |family| topology.main_routes(interface).filter(move |route| route.is_default() && route.family() == family);
    for (option, family) in [("--gateway", Family::V4), ("--ipv6gateway", Family::V6)] {
        let Some(given) = command.value(option) else { continue };
        let gateways = || defaults(family).filter_map(|route| route.gateway);
        if !gateways().any(|gateway| given.parse() == Ok(gateway)) {
            let all = list(gateways(), "none");
            found.push(Contradiction::new(option, given, format!("the default gateway {all}")));
        }
    }
    let own = |family| interface.ip(family).learns_gateway(family) || defaults(family).next().is_some();
    if command.has("--nodefroute") && (own(Family::V4) || own(Family::V6)) {
        found.push(Contradiction::of_option("--nodefroute", "a default route"));
    }
}

fn name_servers(command: &Command, interface: &Interface, topology: &Topology, found: &mut Vec<Contradiction>) {
    let servers = || topology.dns.servers.iter().map(|server| server.address);
    if let Some(given) = command.value("--nameserver")
        && !values(given).all(|given| servers().any(|server| given.parse() == Ok(server)))
    {
        found.push(Contradiction::new("--nameserver", given, format!("the name servers {}", list(servers(), "none"))));
    }
    if command.has("--nodns") {
        if servers().next().is_some() {
            found.push(Contradiction::of_option("--nodns", format!("the name servers {}", list(servers(), "none"))));
        } else if interface.ipv4.learns_name_servers() || interface.ipv6.learns_name_servers() {
            found.push(Contradiction::of_option("--nodns", OF_THE_NETWORK));
        }
    }
    for option in ["--ipv4-dns-search", "--ipv6-dns-search"] {
        let Some(given) = command.value(option) else { continue };
        let search = &topology.dns.search;
        if !values(given).all(|domain| search.iter().any(|own| own == domain)) {
            found.push(Contradiction::new(option, given, format!("the search domains {}", list(search, "none"))));
        }
    }
    for (option, ip) in [("--ipv4-ignore-auto-dns", &interface.ipv4), ("--ipv6-ignore-auto-dns", &interface.ipv6)] {
        if command.has(option) && ip.learns_name_servers() {
            found.push(Contradiction::of_option(option, OF_THE_NETWORK));
        }
    }
}

fn has_any(ip: &Ip) -> bool {
    ip.is_automatic() || !ip.addresses.is_empty()
}

fn addresses(ip: &Ip) -> String {
    format!("the address {}", list(ip.addresses.iter().map(|address| address.network), "none"))
}

/// Where the addresses of a family come from, in words.
fn method(ip: &Ip) -> String {
    match ip.method {
        Method::Dhcp => "DHCP".to_owned(),
        Method::RouterAdvertisements => "automatic addresses".to_owned(),
        Method::Static if !ip.addresses.is_empty() => addresses(ip),
        Method::Static | Method::LinkLocal | Method::Disabled => "no address".to_owned(),
    }
}
