//! Addresses of an interface: static, from DHCP, from router advertisements.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::network::fields::{Fields, Findings};

/// Where addresses come from beside those that the document says.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Automatic {
    #[default]
    None,
    /// IPv4: DHCP. IPv6: router advertisements, and `DHCPv6` where they say so.
    Dhcp,
    /// Router advertisements alone.
    Routers,
}

/// One family on one interface.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) enabled: bool,
    pub(super) automatic: Automatic,
    pub(super) addresses: Vec<IpNet>,
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

    pub(super) fn addresses(&self) -> impl Iterator<Item = &IpNet> {
        self.v4.addresses.iter().chain(&self.v6.addresses)
    }

    pub(super) fn is_configured(&self) -> bool {
        self.v4.enabled || self.v6.enabled
    }
}

pub(super) fn read(fields: &mut Fields<'_>, findings: &mut Findings<'_>) -> Ip {
    let v4 = fields.section("ipv4");
    let v6 = fields.section("ipv6");
    let mut ip = Ip::default();
    // What stands beside `enabled: false` has no effect in keyfiles either.
    for (mut fields, family, is_v6) in [(v4, &mut ip.v4, false), (v6, &mut ip.v6, true)] {
        if fields.flag("enabled") == Some(true) {
            read_family(&mut fields, family, is_v6, findings);
            fields.finish(findings);
        }
    }
    ip
}

fn read_family(fields: &mut Fields<'_>, family: &mut Family, is_v6: bool, findings: &mut Findings<'_>) {
    let dhcp = fields.flag("dhcp") == Some(true);
    let routers = is_v6 && fields.flag("autoconf") == Some(true);
    family.automatic = match (dhcp, routers) {
        (true, false) if is_v6 => {
            findings.refuse(&fields.at("autoconf"), "DHCPv6 goes with router advertisements; set it to true");
            Automatic::None
        }
        (true, _) => Automatic::Dhcp,
        (false, true) => Automatic::Routers,
        (false, false) => Automatic::None,
    };
    // What the network says is used, all of it.
    for key in ["auto-dns", "auto-routes", "auto-gateway"] {
        if family.automatic == Automatic::None {
            fields.ignore(&[key]);
        } else {
            fields.word(key, &[("true", "")], findings);
        }
    }
    if is_v6 {
        let modes = [("eui64", ""), ("EUI64", ""), ("Eui64", "")];
        fields.word("addr-gen-mode", &modes, findings);
    }
    for mut entry in fields.entries("address") {
        let length = entry.number("prefix-length", 0..=128, findings).and_then(|length| u8::try_from(length).ok());
        let address: Option<IpAddr> = entry.text("ip").and_then(|ip| ip.parse().ok());
        match address.zip(length).and_then(|(address, length)| IpNet::new(address, length).ok()) {
            // The kernel makes its own, and the document's is not used.
            Some(IpNet::V6(network)) if network.addr().is_unicast_link_local() => {}
            Some(network) => family.addresses.push(network),
            None => findings.refuse(&entry.at("ip"), "an address needs an ip and a prefix-length"),
        }
        entry.finish(findings);
    }
    family.enabled = is_v6 || family.automatic != Automatic::None || !family.addresses.is_empty();
}
