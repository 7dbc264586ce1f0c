//! Addresses of an interface: static, from DHCP, from router advertisements.

use std::net::IpAddr;

use ipnet::IpNet;

use super::unit::{Content, Setting, yes};
use crate::network::fields::{Fields, Findings};
use vocabulary::host::HostName;
use vocabulary::report::DocumentPath;

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

/// The metric that `NetworkManager` gives to the routes of an interface (`nm_device_get_route_metric_default`), so that
/// of two ways the same one is taken whichever of the two runs.
fn usual_metric(kind: &str) -> u64 {
    match kind {
        "bond" => 300,
        "vlan" => 400,
        "linux-bridge" => 425,
        "dummy" => 550,
        _ => 100,
    }
}

/// Reads `ipv4` and `ipv6` of an interface into its `.network`.
pub(super) fn read(kind: &str, fields: &mut Fields<'_>, network: &mut Content, findings: &mut Findings<'_>) -> Ip {
    let mut v4 = fields.section("ipv4");
    let mut v6 = fields.section("ipv6");
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
        ip.v4 = read_v4(dhcp[0], usual_metric(kind), v4, network, findings);
    }
    if enabled[1] {
        ip.v6 = read_v6(dhcp[1], usual_metric(kind), v6, network, findings);
    }
    ip
}

fn read_v4(
    dhcp: bool,
    usual: u64,
    mut fields: Fields<'_>,
    network: &mut Content,
    findings: &mut Findings<'_>,
) -> Family {
    let automatic = read_automatic(&mut fields, findings);
    let metric = read_metric(&mut fields, findings).unwrap_or(usual);
    let client = fields.word("dhcp-client-id", &[("ll", "mac"), ("LL", "mac")], findings);
    let send = fields.flag("dhcp-send-hostname");
    let hostname = fields.text("dhcp-custom-hostname").filter(|name| !name.is_empty());
    // A name with a domain goes into another option, as the host's full name.
    if let Some(name) = hostname
        && (name.contains('.') || name.parse::<HostName>().is_err())
    {
        let at = fields.at("dhcp-custom-hostname");
        findings.refuse(&at, "it must be a host name without a domain");
    }
    if dhcp {
        if !automatic.routes && automatic.gateway {
            refuse_half(&fields, findings);
        }
        let settings = [
            ("ClientIdentifier", client.unwrap_or("mac").to_owned()),
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
    let addresses = read_addresses(&mut fields, metric, network, findings);
    fields.finish(findings);
    Family { enabled: dhcp || !addresses.is_empty(), addresses, automatic: dhcp.then_some(automatic), routers: false }
}

fn read_v6(
    dhcp: bool,
    usual: u64,
    mut fields: Fields<'_>,
    network: &mut Content,
    findings: &mut Findings<'_>,
) -> Family {
    let routers = fields.flag("autoconf") == Some(true);
    let automatic = read_automatic(&mut fields, findings);
    let metric = read_metric(&mut fields, findings).unwrap_or(usual);
    fields.word("dhcp-duid", &[("ll", "link-layer"), ("LL", "link-layer")], findings);
    let modes = [("eui64", ""), ("EUI64", ""), ("Eui64", "")];
    fields.word("addr-gen-mode", &modes, findings);
    let send = fields.flag("dhcp-send-hostname");
    if dhcp && send == Some(false) {
        findings.refuse(&fields.at("dhcp-send-hostname"), "its DHCPv6 client always asks with its host name");
    }
    let token = fields.text("token").filter(|token| !matches!(*token, "" | "::"));
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
    let addresses = read_addresses(&mut fields, metric, network, findings);
    fields.finish(findings);
    Family {
        enabled: true,
        addresses,
        // DHCPv6 by itself knows no routers.
        automatic: (dhcp || routers).then_some(Automatic { gateway: routers && automatic.gateway, ..automatic }),
        routers,
    }
}

fn read_automatic(fields: &mut Fields<'_>, findings: &mut Findings<'_>) -> Automatic {
    let mut wanted = |key| fields.flag(key) != Some(false);
    let automatic =
        Automatic { dns: wanted("auto-dns"), routes: wanted("auto-routes"), gateway: wanted("auto-gateway") };
    let table = fields.number("auto-route-table-id", 0..=u64::from(u32::MAX), findings);
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
fn read_metric(fields: &mut Fields<'_>, findings: &mut Findings<'_>) -> Option<u64> {
    let range = 0..=u64::from(u32::MAX);
    let automatic = fields.number_or_usual("auto-route-metric", range.clone(), findings);
    let prefix = fields.number_or_usual("prefix-route-metric", range, findings);
    if automatic.is_some() && prefix.is_some() && automatic != prefix {
        findings.refuse(&fields.at("prefix-route-metric"), "it is another one than auto-route-metric");
    }
    automatic.or(prefix)
}

fn read_addresses(
    fields: &mut Fields<'_>,
    metric: u64,
    network: &mut Content,
    findings: &mut Findings<'_>,
) -> Vec<IpNet> {
    let mut addresses = Vec::new();
    for mut entry in fields.entries("address") {
        let length = entry.number("prefix-length", 0..=128, findings);
        let at = entry.at("ip");
        let address: Option<IpAddr> = entry.text("ip").and_then(|ip| ip.parse().ok());
        for key in ["valid-life-time", "valid-left", "valid-lft"] {
            entry.word(key, &[("forever", "")], findings);
        }
        if let (Some(address), Some(length)) = (address, length) {
            // The kernel makes its own, and the document's is not used.
            if !matches!(address, IpAddr::V6(ip) if ip.is_unicast_link_local()) {
                add_address(address, length, metric, &at, &mut addresses, network, findings);
            }
        } else {
            findings.refuse(&at, "an address needs an ip and a prefix-length");
        }
        entry.finish(findings);
    }
    addresses
}

fn add_address(
    address: IpAddr,
    length: u64,
    metric: u64,
    at: &DocumentPath,
    addresses: &mut Vec<IpNet>,
    network: &mut Content,
    findings: &mut Findings<'_>,
) {
    match u8::try_from(length).ok().and_then(|length| IpNet::new(address, length).ok()) {
        Some(address) => {
            let settings: Vec<Setting> = vec![("Address", address.to_string()), ("RouteMetric", metric.to_string())];
            network.add("Address", settings);
            addresses.push(address);
        }
        None => findings.refuse(at, "there is no prefix of this length"),
    }
}
