//! BMCs.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::{CheckedHost, Comparison, Holders, name_of, visible_addresses};
use vocabulary::report::{DocumentPath, Report};

pub(super) fn check(hosts: &[CheckedHost<'_>], found: &mut Comparison) {
    let mut seen = Holders(BTreeMap::new());
    for host in hosts {
        let Some(bmc) = &host.host.bmc else { continue };
        let path = host.host.paths.bmc.key("address");
        let says = |other: &str, first: &DocumentPath| format!("is the BMC of {other} as well ({first})");
        seen.add(identity(&bmc.address), host, path, "bmc-of-two-hosts", says, found);
    }
    let by_address = by_address(hosts);
    for host in hosts {
        for (_, address) in visible_addresses(host) {
            if let Some(other) = by_address.get(&address.network.addr()) {
                let path = other.host.paths.bmc.key("address");
                let message =
                    format!("is {}, which the BMC of {} has ({path})", address.network.addr(), name_of(other));
                found.error(&[host, other], "address-of-bmc", &address.path, message);
            }
        }
    }
    gateways(hosts, &by_address, &mut found.report);
}

/// A BMC forwards nothing. Behind a port of its own there may be more than a BMC: a machine that emulates several, and is
/// their router as well.
fn gateways(hosts: &[CheckedHost<'_>], by_address: &BTreeMap<IpAddr, &CheckedHost<'_>>, report: &mut Report) {
    let urls = hosts.iter().filter_map(|host| Some(host.host.bmc.as_ref()?.address.as_str()));
    let mut passed: BTreeSet<IpAddr> = urls.filter(|url| authority(url).1.is_some()).filter_map(address_of).collect();
    for host in hosts {
        for route in &host.topology.routes {
            let Some((gateway, other)) = route.gateway.and_then(|gateway| Some((gateway, by_address.get(&gateway)?)))
            else {
                continue;
            };
            if passed.insert(gateway) {
                let path = other.host.paths.bmc.key("address");
                let message = format!(
                    "names the gateway {gateway}, which is the BMC of {} ({path}); if there is no router at that \
                     address as well, one of the two is wrong",
                    name_of(other)
                );
                report.warning("gateway-is-bmc", &route.gateway_path, message);
            }
        }
    }
}

/// The first host of each address at which a BMC is.
pub(super) fn by_address<'a>(hosts: &'a [CheckedHost<'a>]) -> BTreeMap<IpAddr, &'a CheckedHost<'a>> {
    let bmcs = hosts.iter().rev().filter_map(|host| Some((address_of(&host.host.bmc.as_ref()?.address)?, host)));
    bmcs.collect()
}

/// What identifies a BMC, however its URL is written: host, port and path.
type Identity<'a> = (Result<IpAddr, String>, String, &'a str);

fn identity(url: &str) -> Identity<'_> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("ipmi", url));
    let path = rest.find(['/', '?', '#']).and_then(|start| rest.get(start..)).unwrap_or_default();
    let (host, port) = authority(url);
    let usual = || match scheme.rsplit_once('+').map_or(scheme, |(_, transport)| transport) {
        "ipmi" | "libvirt" => "623",
        "http" => "80",
        _ => "443",
    };
    let port = port.unwrap_or_else(usual).to_owned();
    (address_of(url).ok_or_else(|| host.to_ascii_lowercase()), port, path.trim_end_matches('/'))
}

/// Host and port of a URL, without the brackets around an address of IPv6.
fn authority(url: &str) -> (&str, Option<&str>) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    if let Some((host, behind)) = place.strip_prefix('[').and_then(|place| place.split_once(']')) {
        return (host, behind.strip_prefix(':').filter(|port| !port.is_empty()));
    }
    match place.split_once(':') {
        // An address of IPv6 without brackets has more than one.
        Some((host, port)) if !port.contains(':') => (host, Some(port).filter(|port| !port.is_empty())),
        _ => (place, None),
    }
}

/// The address in a BMC's URL, where there is one: `redfish-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1`.
fn address_of(url: &str) -> Option<IpAddr> {
    authority(url).0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bmc_is_written_in_several_ways() {
        for (one, other) in [
            (
                "idrac-virtualmedia://192.0.2.9/redfish/v1/Systems/1",
                "redfish-virtualmedia+https://192.0.2.9:443/redfish/v1/Systems/1/",
            ),
            ("ipmi://[2001:db8::9]", "ipmi://[2001:db8:0::9]:623"),
            ("redfish+http://BMC.example.com/redfish/v1", "redfish+http://bmc.example.com:80/redfish/v1"),
            ("192.0.2.9", "ipmi://192.0.2.9"),
        ] {
            assert_eq!(identity(one), identity(other));
        }
        for (one, other) in [
            ("redfish://192.0.2.9/redfish/v1/Systems/1", "redfish://192.0.2.9/redfish/v1/Systems/2"),
            ("ipmi://192.0.2.9:6230", "ipmi://192.0.2.9:6231"),
            ("redfish://a.example.com/x", "redfish://b.example.com/x"),
        ] {
            assert_ne!(identity(one), identity(other));
        }
    }

    #[test]
    fn the_address_of_a_bmc_is_that_of_its_url() {
        for (url, address) in [
            ("redfish-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1", Some("192.0.2.9")),
            ("ipmi://192.0.2.9:6230", Some("192.0.2.9")),
            ("192.0.2.9", Some("192.0.2.9")),
            ("redfish://[2001:db8::9]:8443/redfish/v1", Some("2001:db8::9")),
            ("redfish://bmc.example.com/", None),
            ("", None),
        ] {
            assert_eq!(address_of(url), address.map(|address| address.parse().unwrap()), "{url}");
        }
    }
}
