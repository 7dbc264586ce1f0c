//! Linux bridges: `[Bridge]` of systemd.netdev(5), and of systemd.network(5) for ports.

use super::plan::{Attachment, Plan};
use super::unit::{Content, yes};
use crate::model::{Bridge, Interface};
use crate::network::fields::Fields;
use crate::network::form::Findings;

/// What a port costs in the spanning tree where the document does not say: NetworkManager's own choice. The kernel's
/// would follow from the speed of the link.
const USUAL_COST: u64 = 100;

/// Writes a bridge, and that its ports are such.
pub(super) fn write<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    interface: &'a Interface,
    bridge: &Bridge,
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) {
    let fields = fields.section("bridge");
    let Some(node) = plan.nodes.get_mut(index) else { return };
    let name = node.name;
    node.netdev.set("NetDev", "Kind", "bridge");
    set_options(bridge, &fields.section("options"), &mut node.netdev);
    let entries = fields.entries("port");
    for port in &interface.ports {
        // One that only names its controller has no settings.
        let settings_of = entries.iter().find(|entry| entry.at("name") == port.path);
        let cost = settings_of.and_then(|entry| entry.number("stp-path-cost")).unwrap_or(USUAL_COST);
        let mut settings = vec![("Network", ("Bridge", name.to_owned())), ("Bridge", ("Cost", cost.to_string()))];
        if let Some(priority) = settings_of.and_then(|entry| entry.number("stp-priority")) {
            settings.push(("Bridge", ("Priority", priority.to_string())));
        }
        if let Some(hairpin) = settings_of.and_then(|entry| entry.flag("stp-hairpin-mode")) {
            settings.push(("Bridge", ("HairPin", yes(hairpin).to_owned())));
        }
        plan.attach(&port.name, name, Attachment::Port, settings, &port.path, findings);
    }
}

fn set_options(bridge: &Bridge, options: &Fields<'_>, netdev: &mut Content) {
    // The settings of VLANs, without which nothing filters them, are refused.
    let Bridge { stp, forward_delay, hello_time, max_age, priority, vlan_filtering: _ } = bridge;
    netdev.set("Bridge", "STP", yes(*stp));
    let times = [("ForwardDelaySec", forward_delay), ("HelloTimeSec", hello_time), ("MaxAgeSec", max_age)];
    for (unit, seconds) in times {
        if let Some(seconds) = seconds {
            netdev.set("Bridge", unit, format!("{seconds}s"));
        }
    }
    if let Some(priority) = priority {
        netdev.set("Bridge", "Priority", priority.to_string());
    }
    if let Some(seconds) = options.number("mac-ageing-time") {
        netdev.set("Bridge", "AgeingTimeSec", format!("{seconds}s"));
    }
    for key in ["group-forward-mask", "group-fwd-mask"] {
        if let Some(mask) = options.number(key) {
            netdev.set("Bridge", "GroupForwardMask", mask.to_string());
        }
    }
    for (key, unit) in [("multicast-snooping", "MulticastSnooping"), ("multicast-querier", "MulticastQuerier")] {
        if let Some(value) = options.flag(key) {
            netdev.set("Bridge", unit, yes(value));
        }
    }
    if let Some(protocol) = options.text("vlan-protocol") {
        netdev.set("Bridge", "VLANProtocol", protocol);
    }
}
