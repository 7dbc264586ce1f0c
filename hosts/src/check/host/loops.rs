//! Interfaces that stand on themselves.

use std::collections::BTreeSet;

use super::Network;
use crate::model::Interface;
use vocabulary::report::Report;

/// The interfaces below each interface: a VLAN's parent, a bond's ports.
pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for interface in &network.topology.interfaces {
        if let Some(ring) = ring(network, interface, &mut done) {
            let message = format!("depends on itself: {}", ring.join(" on "));
            report.error("interface-loop", &interface.path, message);
        }
    }
}

/// The first ring that is found on the way down from an interface, without what is known to lead to none.
fn ring<'a>(network: &Network<'a>, from: &'a Interface, done: &mut BTreeSet<&'a str>) -> Option<Vec<&'a str>> {
    // The way from the start, each step with what is still to be visited below it.
    let mut way: Vec<(&'a str, Vec<&'a Interface>)> = Vec::new();
    let mut found = None;
    let mut next = (!done.contains(from.name.as_str())).then_some(from);
    loop {
        if let Some(interface) = next.take() {
            way.push((&interface.name, below(network, interface)));
        }
        let Some((name, rest)) = way.last_mut() else { return found };
        let Some(interface) = rest.pop() else {
            done.insert(name);
            way.pop();
            continue;
        };
        if let Some(start) = way.iter().position(|(name, _)| *name == interface.name) {
            let ring = way.iter().skip(start).map(|(name, _)| *name).chain([interface.name.as_str()]);
            found = found.or_else(|| Some(ring.collect()));
        } else if !done.contains(interface.name.as_str()) {
            next = Some(interface);
        }
    }
}

fn below<'a>(network: &Network<'a>, interface: &'a Interface) -> Vec<&'a Interface> {
    let parent = interface.kind.parent().and_then(|parent| network.interface(parent));
    parent.into_iter().chain(network.ports(&interface.name).iter().copied()).collect()
}
