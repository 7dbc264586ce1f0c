//! Addresses of an interface: static, from DHCP, from router advertisements.

use std::net::IpAddr;

use ipnet::IpNet;

use super::unit::{Content, yes};
use crate::model::Kind;
use crate::network::fields::Fields;
use crate::network::form::Findings;
use vocabulary::host::HostName;

/// What is known of one family on one interface.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) enabled: bool,
    /// The static addresses with their prefixes.
    pub(super) addresses: Vec<IpNet>,
    /// What is used of the network's own configuration, where addresses come from the network as well.
    pub(super) automatic: Option<Automatic>,
    /// Whether router advertisements are listened to.
    pub(super) routers: bool,
}

/// What of the network's own configuration is used.
#[derive(Debug)]
pub(super) struct Automatic {
    pub(super) dns: bool,
    pub(super) routes: bool,
    /// Whether a default route comes from the network.
    pub(super) gateway: bool,
}

/// Both families on one interface.
#[derive(Debug, Default)]
pub(super) struct Ip {
    pub(super) v4: Family,
    pub(super) v6: Family,
}

impl Ip {
    pub(super) fn family(&self, address: IpAddr) -> &Family {
        if address.is_ipv4() { &self.v4 } else { &self.v6 }
    }
}

/// Reads `ipv4` and `ipv6` of an interface into its `.network`.
pub(super) fn read(kind: &Kind, fields: &Fields<'_>, network: &mut Content, findings: &mut Findings<'_>) -> Ip {
    let v4 = fields.section("ipv4");
    let v6 = fields.section("ipv6");
    // NetworkManager's, so that of two ways the same one is taken whichever of the two runs.
    let usual = match kind {
        Kind::Vrf(_) => Kind::Ethernet.usual_metric(),
        kind => kind.usual_metric(),
    };
    let enabled = [v4.flag("enabled") == Some(true), v6.flag("enabled") == Some(true)];
    let dhcp = [enabled[0] && v4.flag("dhcp") == Some(true), enabled[1] && v6.flag("dhcp") == Some(true)];
    match dhcp {
        [true, true] => network.set("Network", "DHCP", "yes"),
        [true, false] => network.set("Network", "DHCP", "ipv4"),
        [false, true] => network.set("Network", "DHCP", "ipv6"),
        [false, false] => {}
    }
    let mut ip = Ip::default();
    // What stands beside `enabled: false` has no effect in keyfiles either.
    if enabled[0] {
        ip.v4 = read_v4(dhcp[0], usual, &v4, network, findings);
    }
    if enabled[1] {
        ip.v6 = read_v6(dhcp[1], usual, &v6, network, findings);
    }
    ip
}

fn read_v4(dhcp: bool, usual: u32, fields: &Fields<'_>, network: &mut Content, findings: &mut Findings<'_>) -> Family {
    let automatic = read_automatic(fields, findings);
    let metric = read_metric(fields, findings).unwrap_or(u64::from(usual));
    let send = fields.flag("dhcp-send-hostname");
    let hostname = fields.text("dhcp-custom-hostname");
    // A name with a domain goes into another option, as the host's full name.
    if let Some(name) = hostname
        && (name.contains('.') || name.parse::<HostName>().is_err())
    {
        let at = fields.at("dhcp-custom-hostname");
        findings.refuse(&at, "it must be a host name without a domain");
    }
    if dhcp {
        if !automatic.routes && automatic.gateway {
            refuse_half(fields, findings);
        }
        let settings = [
            ("ClientIdentifier", "mac".to_owned()),
            ("UseDNS", yes(automatic.dns).into()),
            ("UseDomains", yes(automatic.dns).into()),
            ("UseRoutes", yes(automatic.routes).into()),
            ("UseGateway", yes(automatic.gateway).into()),
            ("RouteMetric", metric.to_string()),
        ];
        for (key, value) in settings {
            network.set("DHCPv4", key, value);
        }
        if send == Some(false) {
            network.set("DHCPv4", "SendHostname", "no");
        }
        if let Some(hostname) = hostname {
            network.set("DHCPv4", "Hostname", hostname);
        }
    }
    let addresses = read_addresses(fields, metric, network, findings);
    Family { enabled: dhcp || !addresses.is_empty(), addresses, automatic: dhcp.then_some(automatic), routers: false }
}

fn read_v6(dhcp: bool, usual: u32, fields: &Fields<'_>, network: &mut Content, findings: &mut Findings<'_>) -> Family {
    let routers = fields.flag("autoconf") == Some(true);
    let automatic = read_automatic(fields, findings);
    let metric = read_metric(fields, findings).unwrap_or(u64::from(usual));
    let send = fields.flag("dhcp-send-hostname");
    if dhcp && send == Some(false) {
        findings.refuse(&fields.at("dhcp-send-hostname"), "its DHCPv6 client always asks with its host name");
    }
    let token = fields.text("token").filter(|token| *token != "::");
    let token = token.map(str::parse::<std::net::Ipv6Addr>);
    if let Some(Err(_)) = token {
        findings.refuse(&fields.at("token"), "it is not an IPv6 address");
    }
    network.set("Network", "LinkLocalAddressing", "ipv6");
    network.set("Network", "IPv6LinkLocalAddressGenerationMode", "eui64");
    if routers {
        if !automatic.routes {
            findings.refuse(&fields.at("auto-routes"), "routes to the link itself come with every address");
        }
        let settings = [
            ("UseDNS", yes(automatic.dns).to_owned()),
            ("UseDomains", yes(automatic.dns).into()),
            ("UseGateway", yes(automatic.gateway).into()),
            ("RouteMetric", metric.to_string()),
        ];
        for (key, value) in settings {
            network.set("IPv6AcceptRA", key, value);
        }
        if let Some(Ok(token)) = token {
            network.set("IPv6AcceptRA", "Token", format!("static:{token}"));
        }
    }
    if dhcp {
        network.set("DHCPv6", "DUIDType", "link-layer");
        network.set("DHCPv6", "UseDNS", yes(automatic.dns));
        network.set("DHCPv6", "UseDomains", yes(automatic.dns));
        if !routers {
            network.set("DHCPv6", "WithoutRA", "solicit");
        }
    }
    let addresses = read_addresses(fields, metric, network, findings);
    Family {
        enabled: true,
        addresses,
        // DHCPv6 by itself knows no routers.
        automatic: (dhcp || routers).then_some(Automatic { gateway: routers && automatic.gateway, ..automatic }),
        routers,
    }
}

fn read_automatic(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Automatic {
    let wanted = |key| fields.flag(key) != Some(false);
    let automatic =
        Automatic { dns: wanted("auto-dns"), routes: wanted("auto-routes"), gateway: wanted("auto-gateway") };
    let table = fields.number("auto-route-table-id");
    if table.is_some_and(|table| !matches!(table, 0 | 254)) {
        findings.refuse(&fields.at("auto-route-table-id"), "the routes that come with an address stay in table main");
    }
    automatic
}

fn refuse_half(fields: &Fields<'_>, findings: &mut Findings<'_>) {
    let reason = "without the other routes there is no default route either; set auto-gateway: false as well";
    findings.refuse(&fields.at("auto-routes"), reason);
}

/// The metric of the routes that come with addresses, which has two names.
fn read_metric(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<u64> {
    let [automatic, prefix] = ["auto-route-metric", "prefix-route-metric"].map(|key| fields.number(key));
    if automatic.is_some() && prefix.is_some() && automatic != prefix {
        findings.refuse(&fields.at("prefix-route-metric"), "it differs from auto-route-metric");
    }
    automatic.or(prefix)
}

fn read_addresses(fields: &Fields<'_>, metric: u64, network: &mut Content, findings: &mut Findings<'_>) -> Vec<IpNet> {
    let mut addresses = Vec::new();
    for entry in fields.entries("address") {
        let address: Option<IpAddr> = entry.text("ip").and_then(|ip| ip.parse().ok());
        let length = entry.number("prefix-length").and_then(|length| u8::try_from(length).ok());
        match address.zip(length).and_then(|(address, length)| IpNet::new(address, length).ok()) {
            // The kernel makes its own, and the document's is not used.
            Some(IpNet::V6(network)) if network.addr().is_unicast_link_local() => {}
            Some(address) => {
                let settings = vec![("Address", address.to_string()), ("RouteMetric", metric.to_string())];
                network.add("Address", settings);
                addresses.push(address);
            }
            None => findings.refuse(&entry.at("ip"), "an address needs an ip and a prefix-length"),
        }
    }
    addresses
}
