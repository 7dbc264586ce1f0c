//! Addresses of an interface: static, from DHCP, from router advertisements.

use super::unit::{Content, yes};
use crate::model::{Address, Family, Interface, Ip, Kind, MAIN_TABLE, Method};
use crate::network::form::Findings;
use vocabulary::host::HostName;

/// Writes both families of an interface into its `.network`.
pub(super) fn write(interface: &Interface, network: &mut Content, findings: &mut Findings<'_>) {
    let Interface { ipv4, ipv6, kind, mtu, .. } = interface;
    // The loopback is on no link: it has no link-local address, and gets nothing from a network.
    if *kind == Kind::Loopback {
        for Ip { addresses, metric, .. } in [ipv4, ipv6] {
            for Address { network: address, path: _ } in addresses {
                let mut settings = vec![("Address", address.to_string())];
                settings.extend(metric.map(|metric| ("RouteMetric", metric.to_string())));
                network.add("Address", settings);
            }
        }
        return;
    }
    // Router advertisements may ask for DHCPv6.
    match [ipv4, ipv6].map(Ip::is_automatic) {
        [true, true] => network.set("Network", "DHCP", "yes"),
        [true, false] => network.set("Network", "DHCP", "ipv4"),
        [false, true] => network.set("Network", "DHCP", "ipv6"),
        [false, false] => {}
    }
    // NetworkManager's metric, so that the host prefers the same way whichever of the two runs.
    let usual = match kind {
        Kind::Vrf(_) => Kind::Ethernet.usual_metric(),
        kind => kind.usual_metric(),
    };
    for (family, ip) in [(Family::V4, ipv4), (Family::V6, ipv6)] {
        if ip.method != Method::Disabled {
            write_family(family, ip, usual, network, findings);
        }
    }
    // As NetworkManager does. An MTU that is set is stronger, and networkd complains of both.
    if ipv4.method == Method::Dhcp && mtu.is_none() {
        network.set("DHCPv4", "UseMTU", "yes");
    }
}

fn write_family(family: Family, ip: &Ip, usual: u32, network: &mut Content, findings: &mut Findings<'_>) {
    let Ip {
        method,
        addresses,
        automatic_dns: _,
        automatic_routes: _,
        automatic_gateway: _,
        metric,
        automatic_table,
        // The list of keys that can be expressed allows only the MAC address as the client id.
        dhcp_duid: _,
        sends_hostname: _,
        dhcp_hostname: _,
        token: _,
        path,
    } = ip;
    let metric = metric.unwrap_or(usual).to_string();
    if *automatic_table != MAIN_TABLE {
        findings.refuse(&path.key("auto-route-table-id"), "the routes that come with an address stay in table main");
    }
    if family == Family::V6 {
        network.set("Network", "LinkLocalAddressing", "ipv6");
        network.set("Network", "IPv6LinkLocalAddressGenerationMode", "eui64");
    }
    match (method, family) {
        (Method::Dhcp, Family::V4) => write_dhcpv4(ip, &metric, network, findings),
        (Method::Dhcp, Family::V6) => write_dhcpv6(ip, network, findings),
        (Method::RouterAdvertisements, _) => {
            write_advertisements(ip, &metric, network, findings);
            write_dhcpv6(ip, network, findings);
        }
        (Method::Disabled | Method::Static | Method::LinkLocal, _) => {}
    }
    for Address { network: address, path: _ } in addresses {
        network.add("Address", vec![("Address", address.to_string()), ("RouteMetric", metric.clone())]);
    }
}

fn write_dhcpv4(ip: &Ip, metric: &str, network: &mut Content, findings: &mut Findings<'_>) {
    if !ip.automatic_routes && ip.automatic_gateway {
        let reason = "without the other routes there is no default route either; set auto-gateway: false as well";
        findings.refuse(&ip.path.key("auto-routes"), reason);
    }
    let settings = [
        ("ClientIdentifier", "mac"),
        ("UseDNS", yes(ip.automatic_dns)),
        ("UseDomains", yes(ip.automatic_dns)),
        ("UseRoutes", yes(ip.automatic_routes)),
        ("UseGateway", yes(ip.automatic_gateway)),
        ("RouteMetric", metric),
    ];
    for (key, value) in settings {
        network.set("DHCPv4", key, value);
    }
    if !ip.sends_hostname {
        network.set("DHCPv4", "SendHostname", "no");
    }
    if let Some(hostname) = &ip.dhcp_hostname {
        // A name with a domain goes into another DHCP option, as the host's full name.
        if hostname.contains('.') || hostname.parse::<HostName>().is_err() {
            findings.refuse(&ip.path.key("dhcp-custom-hostname"), "it must be a host name without a domain");
        }
        network.set("DHCPv4", "Hostname", hostname.as_str());
    }
}

fn write_advertisements(ip: &Ip, metric: &str, network: &mut Content, findings: &mut Findings<'_>) {
    if !ip.automatic_routes {
        findings.refuse(&ip.path.key("auto-routes"), "routes to the link itself come with every address");
    }
    let settings = [
        ("UseDNS", yes(ip.automatic_dns)),
        ("UseDomains", yes(ip.automatic_dns)),
        ("UseGateway", yes(ip.automatic_gateway)),
        ("RouteMetric", metric),
    ];
    for (key, value) in settings {
        network.set("IPv6AcceptRA", key, value);
    }
    if let Some(token) = ip.token {
        network.set("IPv6AcceptRA", "Token", format!("static:{token}"));
    }
}

fn write_dhcpv6(ip: &Ip, network: &mut Content, findings: &mut Findings<'_>) {
    if !ip.sends_hostname {
        let reason = "its DHCPv6 client always sends its host name";
        findings.refuse(&ip.path.key("dhcp-send-hostname"), reason);
    }
    network.set("DHCPv6", "DUIDType", "link-layer");
    network.set("DHCPv6", "UseDNS", yes(ip.automatic_dns));
    network.set("DHCPv6", "UseDomains", yes(ip.automatic_dns));
    if ip.method == Method::Dhcp {
        network.set("DHCPv6", "WithoutRA", "solicit");
    }
}
