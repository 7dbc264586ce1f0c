//! Linux bridges: `[Bridge]` of systemd.netdev(5), and of systemd.network(5) for ports.

use super::plan::{Attachment, Plan};
use super::unit::{Content, yes};
use crate::network::fields::{Fields, Findings};

/// What a port costs in the spanning tree where the document does not say: NetworkManager's own choice. The kernel's
/// would follow from the speed of the link.
const USUAL_COST: u64 = 100;

/// Reads `bridge`.
pub(super) fn read<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    name: &'a str,
    fields: &mut Fields<'a>,
    findings: &mut Findings<'_>,
) {
    let mut bridge = fields.section("bridge");
    let mut options = bridge.section("options");
    let Some(node) = plan.nodes.get_mut(index) else { return };
    node.netdev.set("NetDev", "Kind", "bridge");
    read_options(&mut options, &mut node.netdev, findings);
    options.finish(findings);
    for mut port in bridge.entries("port") {
        let path = port.at("name");
        let Some(port_name) = port.text("name") else { continue };
        let cost = port.number("stp-path-cost", 1..=65535, findings).unwrap_or(USUAL_COST);
        let mut settings = vec![("Network", ("Bridge", name.to_owned())), ("Bridge", ("Cost", cost.to_string()))];
        if let Some(priority) = port.number("stp-priority", 0..=63, findings) {
            settings.push(("Bridge", ("Priority", priority.to_string())));
        }
        if let Some(hairpin) = port.flag("stp-hairpin-mode") {
            settings.push(("Bridge", ("HairPin", yes(hairpin).to_owned())));
        }
        let vlan = port.section("vlan");
        vlan.finish_because("networkd leaves every port in the default VLAN besides", findings);
        plan.attach(port_name, name, Attachment::Port, settings, &path, findings);
        port.finish(findings);
    }
    bridge.finish(findings);
}

fn read_options(options: &mut Fields<'_>, netdev: &mut Content, findings: &mut Findings<'_>) {
    let mut stp = options.section("stp");
    // Where the document does not say, NetworkManager has it on.
    netdev.set("Bridge", "STP", yes(stp.flag("enabled") != Some(false)));
    let times = [
        ("forward-delay", "ForwardDelaySec", 2, 30),
        ("hello-time", "HelloTimeSec", 1, 10),
        ("max-age", "MaxAgeSec", 6, 40),
    ];
    for (key, unit, least, greatest) in times {
        if let Some(seconds) = stp.number(key, least..=greatest, findings) {
            netdev.set("Bridge", unit, format!("{seconds}s"));
        }
    }
    if let Some(priority) = stp.number("priority", 0..=65535, findings) {
        netdev.set("Bridge", "Priority", priority.to_string());
    }
    stp.finish(findings);
    if let Some(seconds) = options.number("mac-ageing-time", 0..=1_000_000, findings) {
        netdev.set("Bridge", "AgeingTimeSec", format!("{seconds}s"));
    }
    for key in ["group-forward-mask", "group-fwd-mask"] {
        if let Some(mask) = options.number(key, 0..=65535, findings) {
            netdev.set("Bridge", "GroupForwardMask", mask.to_string());
        }
    }
    for (key, unit) in [("multicast-snooping", "MulticastSnooping"), ("multicast-querier", "MulticastQuerier")] {
        if let Some(value) = options.flag(key) {
            netdev.set("Bridge", unit, yes(value));
        }
    }
    if let Some(protocol) = options.word("vlan-protocol", &[("802.1q", "802.1q"), ("802.1ad", "802.1ad")], findings) {
        netdev.set("Bridge", "VLANProtocol", protocol);
    }
    // Without VLAN filtering nmstate takes no other.
    options.word("vlan-default-pvid", &[("1", "")], findings);
}
