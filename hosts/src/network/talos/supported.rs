//! The keys of NMState that Talos' network configuration can express, and why it cannot express others.

use crate::network::devices::takes;
use crate::network::form::Values::{Within, WithinOrUsual, Words};
use crate::network::form::{Findings, Form, Section};
use vocabulary::report::DocumentPath;

pub(super) const TALOS: Form = Form {
    code: "not-in-talos-network",
    name: "Talos' network configuration",
    sections: SECTIONS,
    reasons: &[
        ("primary", "Talos identifies the primary port by its kernel index, which only the running host knows"),
        ("route-rules", "it has no routing rules; put them into Talos' machine configuration"),
    ],
    takes,
};

const SECTIONS: &[Section] = &[
    Section::new("", "hostname interfaces routes dns-resolver", &[]),
    Section::new(
        "interfaces.*",
        "name type state identifier profile-name controller description mac-address copy-mac-from lldp \
         ethernet ipv4 ipv6 link-aggregation vlan bridge",
        &[("mtu", Within(68, 65535)), ("accept-all-mac-addresses", Words(&["false"])), ("wait-ip", Words(&["any"]))],
    ),
    Section::new("interfaces.*.lldp", "", &[("enabled", Words(&["false"]))]),
    Section::new("interfaces.*.ethernet", "", &[("auto-negotiation", Words(&["true"]))]),
    Section::new("interfaces.*.ipv4", "enabled dhcp auto-dns auto-routes auto-gateway address", &[]),
    Section::new(
        "interfaces.*.ipv6",
        "enabled dhcp autoconf auto-dns auto-routes auto-gateway address",
        &[("addr-gen-mode", Words(&["eui64", "EUI64", "Eui64"]))],
    ),
    Section::new("interfaces.*.ipv4.address.*", "ip prefix-length", &[]),
    Section::new("interfaces.*.ipv6.address.*", "ip prefix-length", &[]),
    Section::new("interfaces.*.link-aggregation", "mode options port", &[]),
    Section::new(
        "interfaces.*.link-aggregation.options",
        "ad_actor_sys_prio ad_select ad_user_port_key all_slaves_active downdelay fail_over_mac lacp_rate lp_interval miimon \
         min_links num_grat_arp num_unsol_na packets_per_slave primary_reselect resend_igmp tlb_dynamic_lb updelay",
        &[
            ("use_carrier", Words(&["true", "1"])),
            (
                "xmit_hash_policy",
                Words(&["layer2", "0", "layer3+4", "1", "layer2+3", "2", "encap2+3", "3", "encap3+4", "4"]),
            ),
        ],
    ),
    Section::new(
        "interfaces.*.vlan",
        "base-iface id protocol",
        &[
            ("registration-protocol", Words(&["none"])),
            ("reorder-headers", Words(&["true"])),
            ("loose-binding", Words(&["false"])),
        ],
    ),
    Section::new("interfaces.*.bridge", "port options", &[]),
    Section::new("interfaces.*.bridge.port.*", "name", &[]),
    Section::new("interfaces.*.bridge.options", "stp", &[]),
    Section::new("interfaces.*.bridge.options.stp", "enabled", &[]),
    Section::new("routes", "config", &[]),
    Section::new(
        "routes.config.*",
        "state destination next-hop-address next-hop-interface source",
        &[
            ("metric", WithinOrUsual(0, 0xffff_ffff)),
            // Both are the main table.
            ("table-id", Words(&["0", "254"])),
        ],
    ),
    Section::new("dns-resolver", "config", &[]),
    Section::new("dns-resolver.config", "server search", &[]),
];

/// Warns about a setting that older releases of Talos ignore.
pub(super) fn warn_of_releases(path: &DocumentPath, findings: &mut Findings<'_>) {
    let message =
        "needs a recent release of Talos: older releases ignore it, and dayone cannot see which release the base has";
    findings.warn("needs-newer-talos", path, message);
}
