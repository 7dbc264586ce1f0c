//! Settings that dayone does not translate, and why. None of them is left out without a finding.

use serde_yaml::Value;

use crate::input::fields::{Fields, boolean as yaml_boolean};
use crate::input::listing::quoted;
use vocabulary::report::{Report, Reported};

/// Settings without an equivalent, which change nothing about addresses, routes and links: each with the reason.
const IGNORED: &[(&str, &str)] = &[
    ("renderer", "dayone writes the network in the form that the host's system reads"),
    ("optional", "the host's system decides what its boot waits for"),
    ("optional-addresses", "the host's system decides what its boot waits for"),
    ("critical", "only systemd-networkd has an equivalent"),
    ("ignore-carrier", "only systemd-networkd has an equivalent"),
    ("wakeonlan", "dayone's profiles do not change how a NIC wakes the host"),
    ("emit-lldp", "NetworkManager receives LLDP, and does not send it"),
    ("broadcast", "the kernel derives the broadcast address from the address and its mask"),
    ("bridge_maxwait", "NetworkManager does not wait for the ports of a bridge"),
    ("bridge_waitport", "NetworkManager does not wait for the ports of a bridge"),
    ("network_commands", "it tells curtin, the installer of MAAS, how to read the network"),
    ("use-ntp", "the host's system decides where its time servers come from"),
    ("use-hostname", "NetworkManager takes a host name from DHCP only if the host has none"),
    ("use-mtu", "NetworkManager takes the MTU from DHCP unless the document has one"),
    ("use-domains", "NetworkManager takes search domains together with the name servers"),
];

/// Settings that ask for nothing if they have this value.
const NOTHING: &[(&str, bool)] = &[
    ("optional", false),
    ("critical", false),
    ("ignore-carrier", false),
    ("wakeonlan", false),
    ("emit-lldp", false),
    ("ipv6-privacy", false),
    ("delay-virtual-functions-rebind", false),
    ("use-ntp", true),
    ("use-hostname", true),
    ("use-mtu", true),
    ("use-domains", true),
    ("hidden", false),
    ("on-link", false),
];

/// Settings that dayone cannot keep, and without which the host would not have the network that the document describes.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("wifis", "dayone does not configure wireless networks"),
    ("modems", "dayone does not configure modems"),
    ("tunnels", "write the network as NMState, which has tunnels"),
    ("vrfs", "write the network as NMState, which has VRFs"),
    ("dummy-devices", "write the network as NMState, which has dummy interfaces"),
    ("virtual-ethernets", "write the network as NMState, which has pairs of virtual NICs"),
    ("nm-devices", "hand over NetworkManager's own profile (.nmconnection)"),
    ("openvswitch", "Open vSwitch does not run before the installation"),
    ("networkmanager", "hand over NetworkManager's own profile (.nmconnection)"),
    ("auth", "write the network as NMState, which has 802.1X"),
    ("activation-mode", "dayone's profiles come up at boot; leave the interface out"),
    ("ipv6-privacy", "NMState has no temporary addresses"),
    ("ipv6-mtu", "NMState has one MTU for both families"),
    ("neigh-suppress", "NMState has no equivalent"),
    ("hairpin", "NMState has no equivalent here"),
    ("port-mac-learning", "NMState has no equivalent"),
    ("link", "write the network as NMState, which has SR-IOV"),
    ("virtual-function-count", "write the network as NMState, which has SR-IOV"),
    ("embedded-switch-mode", "NMState has no equivalent"),
    ("delay-virtual-functions-rebind", "NMState has no equivalent"),
    ("infiniband-mode", "write the network as NMState, which has InfiniBand"),
    ("receive-checksum-offload", "write the network as NMState, whose ethtool has it"),
    ("transmit-checksum-offload", "write the network as NMState, whose ethtool has it"),
    ("tcp-segmentation-offload", "write the network as NMState, whose ethtool has it"),
    ("tcp6-segmentation-offload", "write the network as NMState, whose ethtool has it"),
    ("generic-segmentation-offload", "write the network as NMState, whose ethtool has it"),
    ("generic-receive-offload", "write the network as NMState, whose ethtool has it"),
    ("large-receive-offload", "write the network as NMState, whose ethtool has it"),
    ("regulatory-domain", "dayone does not configure wireless networks"),
    ("on-link", "NMState has no equivalent; add a route to the gateway itself (to: its address, scope: link)"),
    ("type-of-service", "NMState has no equivalent"),
    ("lifetime", "NMState has no addresses with a lifetime"),
    ("label", "NMState has no equivalent"),
    ("pointopoint", "NMState has no equivalent; write the address with a prefix of 32 bits, and a route"),
    ("keep_configuration", "only systemd-networkd has an equivalent"),
    ("bridge_gcint", "NMState has no equivalent"),
    ("bridge_ports", "cloud-init reads it only in params; list the ports in bridge_interfaces"),
    ("driver", "a NIC is found by its MAC address or by its name"),
    ("macs", "NMState has no equivalent"),
    ("ra-overrides", "only newer releases of netplan have it, and dayone does not read it"),
];

/// Reports every member of `fields` that is not one of `known`.
pub(super) fn check_rest(fields: &Fields<'_>, known: &[&str], report: &mut Report) {
    for (key, value) in fields.mapping {
        let key = key.as_str().unwrap_or("?");
        let named = |table: &[(&str, &'static str)]| table.iter().find(|(name, _)| *name == key).map(|(_, why)| *why);
        let path = fields.path.key(key);
        if known.contains(&key) || asks_for_nothing(key, value) {
            continue;
        }
        if let Some(why) = named(IGNORED) {
            report.warning("network-config-ignored", &path, format!("is not used: {why}"));
        } else if let Some(why) = named(UNSUPPORTED) {
            report.error("network-config-unsupported", &path, format!("cannot be kept: {why}"));
        } else {
            let message = format!("is unknown here: dayone knows no setting {} of cloud-init or netplan", quoted(key));
            report.error("network-config-unknown", &path, message);
        }
    }
}

/// Reports the values of version 2 that are empty texts. Templates leave them behind, and netplan refuses them. Elsewhere an empty text is no
/// value: a gateway or a route would change without a finding.
pub(super) fn refuse_empty(fields: &Fields<'_>, keys: &[&str], report: &mut Report) {
    for key in keys.iter().filter(|key| fields.mapping.get(**key).and_then(Value::as_str) == Some("")) {
        report.error("network-config-invalid", &fields.path.key(key), "is empty; write a value, or remove the key");
    }
}

/// Returns the boolean that a value is for netplan and cloud-init, which also read `true` and `false` in quotes, and in any case.
pub(super) fn boolean(value: &Value) -> Option<bool> {
    let is = |word: &str| value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(word));
    yaml_boolean(value).or_else(|| is("true").then_some(true)).or_else(|| is("false").then_some(false))
}

/// Returns the boolean at `key`.
pub(super) fn switch(fields: &Fields<'_>, key: &str, report: &mut Report) -> Result<Option<bool>, Reported> {
    match fields.mapping.get(key).and_then(boolean) {
        Some(value) => Ok(Some(value)),
        None => fields.boolean(key, report),
    }
}

fn asks_for_nothing(key: &str, value: &Value) -> bool {
    let is_empty = value.is_null() || value.as_mapping().is_some_and(serde_yaml::Mapping::is_empty);
    is_empty || boolean(value).is_some_and(|value| NOTHING.contains(&(key, value)))
}

/// Reports that the value at `key` cannot be kept.
pub(super) fn refuse(fields: &Fields<'_>, key: &str, why: &str, report: &mut Report) {
    report.error("network-config-unsupported", &fields.path.key(key), format!("cannot be kept: {why}"));
}
