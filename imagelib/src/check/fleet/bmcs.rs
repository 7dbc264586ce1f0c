//! BMCs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{CheckedHost, Holders, addresses, name_of};
use crate::report::{DocumentPath, Report, Severity};

pub(super) fn check(hosts: &[CheckedHost<'_>], report: &mut Report) {
    let mut seen: BTreeMap<&str, Holders<'_, DocumentPath>> = BTreeMap::new();
    let mut by_address: BTreeMap<IpAddr, &CheckedHost<'_>> = BTreeMap::new();
    for host in hosts {
        let Some(bmc) = &host.host.bmc else { continue };
        if let Some(address) = address_of(&bmc.address) {
            by_address.entry(address).or_insert(host);
        }
        let path = host.host.places.bmc.key("address");
        match seen.get_mut(bmc.address.as_str()) {
            None => drop(seen.insert(&bmc.address, Holders::new(host, path))),
            Some(holders) => {
                let says = |other: &str, first: &DocumentPath| format!("is the BMC of {other} as well ({first})");
                holders.shared(Severity::Error, "bmc-of-two-hosts", &path, says, report);
            }
        }
    }
    for host in hosts {
        for (_, address) in addresses(host) {
            if let Some(other) = by_address.get(&address.network.addr()) {
                let path = other.host.places.bmc.key("address");
                let message =
                    format!("is {}, which the BMC of {} has ({path})", address.network.addr(), name_of(other));
                report.error("address-of-bmc", &address.path, message);
            }
        }
    }
}

/// The address in a BMC's URL, where there is one: `redfish-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1`.
fn address_of(url: &str) -> Option<IpAddr> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next()?.parse().ok();
    }
    host.parse().or_else(|_| host.split(':').next().unwrap_or_default().parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
