//! What interfaces are made of.

use std::collections::BTreeMap;

use super::{Network, families};
use crate::report::Report;
use crate::topology::{Interface, Kind, Method};

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    let mut tables: BTreeMap<u32, &Interface> = BTreeMap::new();
    for interface in &network.topology.interfaces {
        if let Some(mac) = interface.mac.filter(|mac| mac.is_group() || mac.is_zero()) {
            let message = format!("is to have the MAC address {mac}, which no single interface can have");
            report.error("mac-address-unusable", &interface.path, message);
        }
        match interface.kind {
            Kind::Bond(_) => bond(network, interface, report),
            Kind::Vrf(table) if interface.active => {
                if let Some(first) = tables.insert(table, interface) {
                    let message = format!("looks in table {table}, as {} does ({})", first.name, first.path);
                    report.warning("vrf-table-shared", &interface.path, message + ": they are not apart");
                }
                if matches!(table, 253..=255) {
                    let message = format!("looks in table {table}, which the host outside of it uses: it is not apart");
                    report.warning("vrf-table-shared", &interface.path, message);
                }
            }
            _ => {}
        }
        let parent = interface.kind.parent().and_then(|parent| network.interface(parent));
        if let Some(parent) = parent.filter(|parent| interface.active && !parent.active) {
            let message = format!("stands on {}, which is down and stays so ({})", parent.name, parent.path);
            report.warning("parent-down", &interface.path, message);
        }
    }
}

/// A bond without a port that comes up has no link.
fn bond(network: &Network<'_>, bond: &Interface, report: &mut Report) {
    let ports = network.ports(&bond.name);
    if !bond.active || ports.iter().any(|port| port.active) {
        return;
    }
    let what = if ports.is_empty() { "has no ports" } else { "has no port that comes up" };
    let needed = families(bond).iter().any(|ip| !matches!(ip.method, Method::Disabled | Method::LinkLocal))
        || bond.controller.is_some()
        || network.children(&bond.name).iter().any(|child| child.active);
    if needed {
        let message = format!("{what}: it never has a link, and neither has what stands on it");
        report.error("bond-without-ports", &bond.path, message);
    } else {
        report.warning("bond-without-ports", &bond.path, format!("{what}: it never has a link"));
    }
}
