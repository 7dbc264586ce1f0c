//! BMCs.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::bmc_fault::fault;
use super::bmc_url::{BmcUrl, Place};
use super::{CheckedHost, Comparison, Holders, name_of, visible_addresses};
use vocabulary::report::{DocumentPath, Report};

pub(super) fn check(hosts: &[CheckedHost<'_>], found: &mut Comparison) {
    let mut seen = Holders(BTreeMap::new());
    for host in hosts {
        let Some(bmc) = &host.host.bmc else { continue };
        let path = host.host.paths.bmc.key("address");
        if let Some(fault) = fault(&bmc.address) {
            // The image does not depend on it, and may start from other media.
            found.report.warning("bmc-address-unusable", &path, fault);
        }
        let thing = machine(BmcUrl::of(&bmc.address), &seen);
        let says = |other: &str, first: &DocumentPath| format!("is the BMC of {other} as well ({first})");
        seen.add(thing, host, path, "bmc-of-two-hosts", says, found);
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

/// A machine at a BMC. Without a System in the address, it counts as the same machine as any other at this BMC, as for boots.
type Machine = (Place, Option<String>);

/// The machine that the address names, or a machine of another host, if both may be the same.
fn machine(url: BmcUrl, seen: &Holders<'_, Machine>) -> Machine {
    let BmcUrl { place, system, has_own_port: _ } = url;
    let without_system = (place, None);
    let first = seen.0.range::<Machine, _>(&without_system..).next().map(|(machine, _)| machine);
    match first.filter(|first| first.0 == without_system.0) {
        Some(first) if system.is_none() || first.1.is_none() => first.clone(),
        _ => (without_system.0, system),
    }
}

/// A BMC forwards nothing. Behind a port of its own there may be more than a BMC: a machine that emulates several, and is
/// their router as well.
fn gateways(hosts: &[CheckedHost<'_>], by_address: &BTreeMap<IpAddr, &CheckedHost<'_>>, report: &mut Report) {
    let urls = hosts.iter().filter_map(|host| Some(BmcUrl::of(&host.host.bmc.as_ref()?.address)));
    let mut passed: BTreeSet<IpAddr> = urls.filter(|url| url.has_own_port).filter_map(|url| url.address()).collect();
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
    let address = |host: &CheckedHost<'_>| BmcUrl::of(&host.host.bmc.as_ref()?.address).address();
    hosts.iter().rev().filter_map(|host| Some((address(host)?, host))).collect()
}
