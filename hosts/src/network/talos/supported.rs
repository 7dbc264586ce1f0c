//! The keys of NMState that Talos' network configuration can express, and why it cannot express others.

use crate::network::devices::{HASH_POLICIES, ROUTE, SECTIONS, takes};
use crate::network::form::Values::Words;
use crate::network::form::{Findings, Form, Section};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::DocumentPath;

pub(super) const TALOS: Form = Form {
    code: "not-in-talos-network",
    name: "Talos' network configuration",
    files: NetworkFiles::TalosNetwork,
    sections: &[SECTIONS, OWN_SECTIONS],
    reasons: &[
        ("primary", "Talos identifies the primary port by its kernel index, which only the running host knows"),
        ("route-rules", "it has no routing rules; put them into Talos' machine configuration"),
    ],
    takes,
};

const OWN_SECTIONS: &[Section] = &[
    Section::new(
        "interfaces.*.link-aggregation.options",
        "ad_actor_sys_prio ad_select ad_user_port_key all_slaves_active downdelay fail_over_mac lacp_rate lp_interval miimon \
         min_links num_grat_arp num_unsol_na packets_per_slave primary_reselect resend_igmp tlb_dynamic_lb updelay",
        &[("use_carrier", Words(&["true", "1"])), ("xmit_hash_policy", HASH_POLICIES)],
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
    Section::new("interfaces.*.bridge.options.stp", "enabled", &[]),
    Section::new("routes.config.*", "state destination next-hop-address next-hop-interface source", ROUTE),
];

/// Warns about a setting that older releases of Talos ignore.
pub(super) fn warn_of_releases(path: &DocumentPath, findings: &mut Findings<'_>) {
    let message =
        "needs a recent release of Talos: older releases ignore it, and dayone cannot see which release the base has";
    findings.warn("needs-newer-talos", path, message);
}
