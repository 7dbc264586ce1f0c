//! What NMState can say and a keyfile written by nmstate 2.2.62 does not, as tables.
//!
//! Found by reading which field of each structure of the crate's schema reaches `nm/settings/*.rs`, and the
//! section list of `nm/nm_dbus/gen_conf/conn.rs`. What the crate refuses by itself is not listed. What holds only
//! under a condition is code: see `settings.rs` and `families.rs`.

use serde_yaml::{Mapping, Value};

use crate::check::release::NEEDS_NEWER;
use crate::nmstate_document::pattern::{Pattern, Searched};
use crate::nmstate_document::types::OPENVSWITCH;
use crate::nmstate_document::{descend, number};
use vocabulary::report::{DocumentPath, Report, Severity};

/// Something that is said in a document and does not take effect, or not everywhere.
struct Feature {
    at: Pattern,
    severity: Severity,
    code: &'static str,
    message: &'static str,
}

const fn reported_only(at: Pattern) -> Feature {
    let message = "has no effect: NMState only reports it, and does not set it";
    Feature { at, severity: Severity::Warning, code: "reported-only", message }
}

const fn lost(at: Pattern, message: &'static str) -> Feature {
    Feature { at, severity: Severity::Warning, code: "not-in-keyfiles", message }
}

const fn refused(at: Pattern, code: &'static str, message: &'static str) -> Feature {
    Feature { at, severity: Severity::Error, code, message }
}

const fn newer(at: Pattern, message: &'static str) -> Feature {
    Feature { at, severity: Severity::Warning, code: NEEDS_NEWER, message }
}

const OTHER_FAMILY: &str = "is a setting of the other address family, and is missing from the keyfiles";
const CERTIFICATE: &str =
    "names a file that must be in the image: bring it with --file (files in the API), unless the ramdisk has it";

#[rustfmt::skip]
const FEATURES: &[Feature] = &[
    // The whole document.
    refused(&["capture"], "nmpolicy", "belongs to nmpolicy: it needs the live state of a node, which does not exist \
                                       before the first boot; write the interfaces out"),
    refused(&["desiredState"], "nmpolicy", "belongs to nmpolicy: it needs the live state of a node, which does not \
                                            exist before the first boot; put its content at the top of the document"),
    refused(&["ovs-db"], OPENVSWITCH, OPENVSWITCH_REASON_IS),
    refused(&["ovn"], OPENVSWITCH, OPENVSWITCH_REASON_IS),
    lost(&["description"], "is missing from the keyfiles"),
    reported_only(&["dns-resolver", "running"]),
    reported_only(&["routes", "running"]),
    // Every interface.
    refused(&["interfaces", "*", "ovs-db"], OPENVSWITCH, OPENVSWITCH_REASON_IS),
    refused(&["interfaces", "*", "dispatch"], "dispatch-script", "is refused: keyfiles cannot contain dispatcher \
                                                                  scripts; put them into the image's Ignition config, \
                                                                  or run them after the installation"),
    lost(&["interfaces", "*", "alt-names"], "is missing from the keyfiles; nothing gives the interface these names"),
    reported_only(&["interfaces", "*", "driver"]),
    Feature { message: "only has an effect on copy-mac-from: NMState reports it, and does not set it",
        ..reported_only(&["interfaces", "*", "permanent-mac-address"]) },
    reported_only(&["interfaces", "*", "min-mtu"]),
    reported_only(&["interfaces", "*", "max-mtu"]),
    reported_only(&["interfaces", "*", "lldp", "neighbors"]),
    lost(&["interfaces", "*", "ipv4", "allow-extra-address"], NO_VERIFICATION),
    lost(&["interfaces", "*", "ipv6", "allow-extra-address"], NO_VERIFICATION),
    lost(&["interfaces", "*", "ipv4", "address", "*", "mptcp-flags"], "is missing from the keyfiles"),
    lost(&["interfaces", "*", "ipv6", "address", "*", "mptcp-flags"], "is missing from the keyfiles"),
    lost(&["interfaces", "*", "ipv4", "address", "*", "preferred-life-time"], "is missing from the keyfiles"),
    lost(&["interfaces", "*", "ipv6", "address", "*", "preferred-life-time"], "is missing from the keyfiles"),
    lost(&["interfaces", "*", "ipv4", "dhcp-duid"], OTHER_FAMILY),
    lost(&["interfaces", "*", "ipv4", "token"], OTHER_FAMILY),
    lost(&["interfaces", "*", "ipv4", "addr-gen-mode"], OTHER_FAMILY),
    lost(&["interfaces", "*", "ipv6", "dhcp-client-id"], OTHER_FAMILY),
    // Some types.
    reported_only(&["interfaces", "*", "ethernet", "sr-iov", "max-vfs"]),
    reported_only(&["interfaces", "*", "ethernet", "sr-iov", "vfs", "*", "iface-name"]),
    reported_only(&["interfaces", "*", "ethtool", "ring", "rx-max"]),
    reported_only(&["interfaces", "*", "ethtool", "ring", "rx-jumbo-max"]),
    reported_only(&["interfaces", "*", "ethtool", "ring", "rx-mini-max"]),
    reported_only(&["interfaces", "*", "ethtool", "ring", "tx-max"]),
    lost(&["interfaces", "*", "ethtool", "coalesce", "tx-usecs-high"], "is missing from the keyfiles"),
    lost(&["interfaces", "*", "ethtool", "coalesce", "tx-usecs-irq"], "is missing from the keyfiles"),
    lost(&["interfaces", "*", "ethtool", "coalesce", "tx-usecs-low"], "is missing from the keyfiles"),
    lost(&["interfaces", "*", "ethtool", "coalesce", "sample-interval"], "is missing from the keyfiles"),
    lost(&["interfaces", "*", "ethtool", "coalesce", "stats-block-usecs"], "is missing from the keyfiles"),
    reported_only(&["interfaces", "*", "bridge", "options", "gc-timer"]),
    reported_only(&["interfaces", "*", "bridge", "options", "hello-timer"]),
    lost(&["interfaces", "*", "bridge", "allow-extra-ports"], NO_VERIFICATION),
    // Fixed in an unknown release; see newer.rs for all others.
    newer(&["interfaces", "*", "vlan", "ingress-qos-map"], VLAN_MAPS),
    newer(&["interfaces", "*", "vlan", "egress-qos-map"], VLAN_MAPS),
];

const OPENVSWITCH_REASON_IS: &str =
    "is refused: openvswitch does not run in the ramdisk; configure it in the second step, after the installation";
const VLAN_MAPS: &str = "takes effect only with a later NetworkManager: kernels of 2024 and later accept at most one \
                         entry from 1.42";
const NO_VERIFICATION: &str = "has no effect: it controls a check against the running system, and no system is \
                               running yet";

/// Structures of the schema in which nmstate ignores unknown keys: where they are, and the keys they know.
const LENIENT: &[(Pattern, &[&str])] = &[
    (
        &["interfaces", "*", "802.1x"],
        &[
            "identity",
            "eap-methods",
            "private-key",
            "client-cert",
            "ca-cert",
            "private-key-password",
            "phase2-auth",
            "password",
        ],
    ),
    (&["interfaces", "*", "veth"], &["peer"]),
    (&["interfaces", "*", "link-aggregation", "ports-config", "*"], &["name", "priority", "queue-id"]),
    (&["interfaces", "*", "bridge", "port", "*", "vlan", "trunk-tags", "*"], &["id", "id-range"]),
    (&["interfaces", "*", "vlan", "ingress-qos-map", "*"], &["from", "to"]),
    (&["interfaces", "*", "vlan", "egress-qos-map", "*"], &["from", "to"]),
];

/// Lists that a keyfile separates by `;`. No valid item holds one.
const SEMICOLON_LISTS: &[Pattern] = &[
    &["dns-resolver", "config", "server", "*"],
    &["dns-resolver", "config", "search", "*"],
    &["dns-resolver", "config", "options", "*"],
    &["interfaces", "*", "802.1x", "eap-methods", "*"],
];

/// Places where nmstate puts a placeholder for a secret when it reports a host's state.
const SECRETS: &[Pattern] = &[
    &["interfaces", "*", "802.1x", "password"],
    &["interfaces", "*", "802.1x", "private-key-password"],
    &["interfaces", "*", "macsec", "mka-cak"],
];
const HIDDEN_SECRET: &str = "<_password_hid_by_nmstate>";

/// Certificates and keys: the path of a file, its content, or where a token has it.
const CERTIFICATES: &[Pattern] = &[
    &["interfaces", "*", "802.1x", "ca-cert"],
    &["interfaces", "*", "802.1x", "client-cert"],
    &["interfaces", "*", "802.1x", "private-key"],
];

/// Numbers that nmstate passes on and NetworkManager refuses with the whole profile: where, least, greatest.
const RANGES: &[(Pattern, u64, u64)] = &[
    (&["interfaces", "*", "vlan", "id"], 0, 4094),
    (&["interfaces", "*", "vxlan", "id"], 0, 0xff_ffff),
    (&["interfaces", "*", "bridge", "port", "*", "vlan", "tag"], 1, 4094),
    (&["interfaces", "*", "bridge", "port", "*", "vlan", "trunk-tags", "*", "id"], 1, 4094),
    (&["interfaces", "*", "bridge", "port", "*", "vlan", "trunk-tags", "*", "id-range", "min"], 1, 4094),
    (&["interfaces", "*", "bridge", "port", "*", "vlan", "trunk-tags", "*", "id-range", "max"], 1, 4094),
];

/// Masks of which NetworkManager refuses some bits.
const FORWARD_MASKS: &[Pattern] = &[
    &["interfaces", "*", "bridge", "options", "group-forward-mask"],
    &["interfaces", "*", "bridge", "options", "group-fwd-mask"],
];

/// How long a list may be: nmstate's time grows with the square of these, and beyond is no host that exists.
const LENGTHS: &[(Pattern, usize)] =
    &[(&["interfaces"], 2000), (&["routes", "config"], 2000), (&["route-rules", "config"], 2000)];

/// The ports of controllers.
const PORTS: &[Pattern] = &[
    &["interfaces", "*", "link-aggregation", "port"],
    &["interfaces", "*", "bridge", "port"],
    &["interfaces", "*", "bridge", "port", "*", "link-aggregation", "port"],
    &["interfaces", "*", "vrf", "port"],
];

/// How many ports all controllers of a document may have together. As for [`LENGTHS`], nmstate's time grows with the square.
const MAX_PORTS: usize = 2000;

/// The ranges of VLANs of bridge ports. nmstate makes a list of every range.
const VLAN_RANGES: Pattern = &["interfaces", "*", "bridge", "port", "*", "vlan", "trunk-tags", "*", "id-range"];

/// How many VLANs all ranges of a document may have together: those of 24 ports with all VLANs.
const MAX_VLANS: u64 = 100_000;

/// Whether all lists are short enough to look at what they have. Reports the others.
pub(crate) fn are_lists_in_bounds(document: &Searched<'_>, path: &DocumentPath, report: &mut Report) -> bool {
    let mut in_bounds = true;
    for (at, most) in LENGTHS {
        document.each(at, &mut |steps, value| {
            if let Some(length) = value.as_sequence().map(Vec::len).filter(|length| length > most) {
                let message = format!("has {length} entries; dayone accepts at most {most}");
                report.error("list-too-long", &descend(path, steps), message);
                in_bounds = false;
            }
        });
    }
    let mut ports = 0;
    for at in PORTS {
        document.each(at, &mut |_, value| ports += value.as_sequence().map_or(0, Vec::len));
    }
    if ports > MAX_PORTS {
        let message = format!("has {ports} ports of bonds, bridges and VRFs; dayone accepts at most {MAX_PORTS}");
        report.error("list-too-long", &path.key("interfaces"), message);
        in_bounds = false;
    }
    let mut vlans: u64 = 0;
    document.each(VLAN_RANGES, &mut |_, range| {
        let end = |key: &str| number(range.get(key)).unwrap_or_default();
        // nmstate refuses greater numbers by itself.
        let count = end("max").saturating_sub(end("min")).min(u16::MAX.into()).saturating_add(1);
        vlans = vlans.saturating_add(count);
    });
    if vlans > MAX_VLANS {
        let message =
            format!("has {vlans} VLANs in the ranges of its bridge ports; dayone accepts at most {MAX_VLANS}");
        report.error("list-too-long", &path.key("interfaces"), message);
        in_bounds = false;
    }
    in_bounds
}

/// Reports everything in the document that the tables know.
pub(crate) fn check(document: &Searched<'_>, path: &DocumentPath, report: &mut Report) {
    for feature in FEATURES {
        document.each(feature.at, &mut |steps, value| {
            if !value.is_null() {
                report.add(feature.severity, feature.code, &descend(path, steps), feature.message);
            }
        });
    }
    for at in CERTIFICATES {
        document.each(at, &mut |steps, value| {
            let is_path = |text: &str| !text.is_empty() && !text.starts_with("data:") && !text.starts_with("pkcs11:");
            if value.as_str().is_some_and(is_path) {
                report.warning("certificate-file", &descend(path, steps), CERTIFICATE);
            }
        });
    }
    for (at, known) in LENIENT {
        document.each(at, &mut |steps, value| {
            let keys = value.as_mapping().into_iter().flat_map(Mapping::keys).filter_map(Value::as_str);
            for key in keys.filter(|key| !known.contains(key)) {
                let message = format!("is not known to NMState, which knows {}", known.join(", "));
                report.error("unknown-key", &descend(path, steps).key(key), message);
            }
        });
    }
    for at in SEMICOLON_LISTS {
        document.each(at, &mut |steps, value| {
            if value.as_str().is_some_and(|item| item.contains(';')) {
                let message = "contains ';', which separates the items of this list in a keyfile; write two items";
                report.error("semicolon-in-list", &descend(path, steps), message);
            }
        });
    }
    for (at, least, greatest) in RANGES {
        document.each(at, &mut |steps, value| {
            if number(Some(value)).is_some_and(|number| number < *least || number > *greatest) {
                let message = format!("is not between {least} and {greatest}, and NetworkManager refuses the profile");
                report.error("out-of-range", &descend(path, steps), message);
            }
        });
    }
    for at in FORWARD_MASKS {
        document.each(at, &mut |steps, value| {
            if number(Some(value)).is_some_and(|mask| mask & 0b111 != 0 || mask > 0xffff) {
                let message = "has one of the bits 0, 1 and 2 (STP, pause frames, LACP), or is beyond 65535, and NetworkManager \
                               refuses the profile";
                report.error("out-of-range", &descend(path, steps), message);
            }
        });
    }
    for at in SECRETS {
        document.each(at, &mut |steps, value| {
            if value.as_str() == Some(HIDDEN_SECRET) {
                let message = "is the placeholder that nmstate shows instead of a secret; write the secret itself";
                report.error("secret-hidden", &descend(path, steps), message);
            }
        });
    }
}
