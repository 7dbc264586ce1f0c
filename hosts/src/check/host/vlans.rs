//! VLANs.

use std::collections::BTreeMap;

use super::Network;
use crate::model::{Interface, Kind, Vlan};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    let mut seen: BTreeMap<(&str, u16, Option<&str>), &Interface> = BTreeMap::new();
    for interface in network.active() {
        let Kind::Vlan(vlan) = &interface.kind else { continue };
        if vlan.id == 0 {
            let message = "has id 0, which is not a VLAN: its frames are those of the base interface, with a priority";
            report.warning("vlan-id-zero", &interface.path, message);
        }
        named_otherwise(network, interface, vlan, report);
        if let Some(parent) = network.interface(&vlan.parent)
            && let Some(controller) = parent.controller.as_deref().and_then(|name| network.interface(name))
            && matches!(controller.kind, Kind::Bond(_))
        {
            let message = format!(
                "is on {}, which is a port of {} ({}); put it on {}",
                parent.name, controller.name, controller.path, controller.name
            );
            report.warning("vlan-on-port", &interface.path, message);
        }
        // One identifier may be there with each protocol of tags.
        let protocol = vlan.options.protocol.as_deref().filter(|protocol| *protocol != "802.1q");
        let key = (vlan.parent.as_str(), vlan.id, protocol);
        if let Some(first) = seen.insert(key, interface) {
            let message = format!(
                "is VLAN {} of {}, like {} ({}): the kernel creates only one of the two",
                vlan.id, vlan.parent, first.name, first.path
            );
            report.add(network.severity(), "vlan-twice", &interface.path, message);
        }
    }
}

/// A VLAN whose name says another identifier, or another interface below, than its settings.
fn named_otherwise(network: &Network<'_>, interface: &Interface, vlan: &Vlan, report: &mut Report) {
    let Some((parent, id)) = said_by(&interface.name) else { return };
    if id != vlan.id {
        let message = format!("is {}, and the name {} says {id}", vlan.id, interface.name);
        report.warning("vlan-unlike-name", &network.place(interface, &["vlan", "id"], &["vlan", "id"]), message);
    }
    let named = parent.and_then(|parent| network.interface(parent)).filter(|named| named.name != vlan.parent);
    if let Some(named) = named {
        let message =
            format!("is {}, and the name {} says {} ({})", vlan.parent, interface.name, named.name, named.path);
        let place = network.place(interface, &["vlan", "base-iface"], &["vlan", "parent"]);
        report.warning("vlan-unlike-name", &place, message);
    }
}

/// The base interface and the id in the name of a VLAN. Small numbers behind `vlan` may count the VLANs.
fn said_by(name: &str) -> Option<(Option<&str>, u16)> {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (parent, id) = match name.rsplit_once('.') {
        Some((parent, id)) if parent != "vlan" => (Some(parent), id),
        _ => (None, name.strip_prefix("vlan")?.trim_start_matches(['.', '-', '_'])),
    };
    let is_whole = (parent.is_some() || id.len() > 2) && is_number(id);
    let id: u16 = id.parse().ok().filter(|id| is_whole && (1..=4094).contains(id))?;
    Some((parent, id))
}
