//! VLANs.

use std::collections::BTreeMap;

use super::Network;
use crate::report::Report;
use crate::topology::{Interface, Kind};

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    let mut seen: BTreeMap<(&str, u16, Option<&str>), &Interface> = BTreeMap::new();
    for interface in network.active() {
        let Kind::Vlan(vlan) = &interface.kind else { continue };
        if vlan.id == 0 {
            let message = "has id 0, which is no VLAN: its frames are those of the parent, with a priority";
            report.warning("vlan-id-zero", &interface.path, message);
        }
        if let Some(parent) = network.interface(&vlan.parent)
            && let Some(controller) = parent.controller.as_deref().and_then(|name| network.interface(name))
            && matches!(controller.kind, Kind::Bond(_))
        {
            let message = format!(
                "stands on {}, which is a port of {} ({}); put it on {}",
                parent.name, controller.name, controller.path, controller.name
            );
            report.warning("vlan-on-port", &interface.path, message);
        }
        let key = (vlan.parent.as_str(), vlan.id, protocol(network, &interface.name));
        if let Some(first) = seen.insert(key, interface) {
            let message = format!(
                "is VLAN {} of {}, as {} is ({}): the kernel makes one of the two only",
                vlan.id, vlan.parent, first.name, first.path
            );
            // Of a user's own profiles it is not known which tags they have.
            if network.is_nmstate() {
                report.error("vlan-twice", &interface.path, message);
            } else {
                report.warning("vlan-twice", &interface.path, message);
            }
        }
    }
}

/// The protocol of a VLAN's tags, where the document says it: one identifier may be there with each.
fn protocol<'a>(network: &Network<'a>, name: &str) -> Option<&'a str> {
    let interfaces = network.host.network.as_nmstate()?.value.get("interfaces")?.as_sequence()?;
    let entry = interfaces.iter().find(|entry| entry.get("name").and_then(|name| name.as_str()) == Some(name))?;
    entry.get("vlan")?.get("protocol")?.as_str().filter(|protocol| *protocol != "802.1q")
}
