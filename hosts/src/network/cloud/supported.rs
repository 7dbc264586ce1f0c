//! The keys of NMState that both formats can express, and why they cannot express others.

use crate::network::devices::{EUI64, HASH_POLICIES, ROUTE, SECTIONS, takes};
use crate::network::form::Values::{Within, Words};
use crate::network::form::{Form, Section};
use vocabulary::network_files::NetworkFiles;

pub(super) const NETPLAN: Form = Form {
    code: "not-in-netplan",
    name: "cloud-init's network-config",
    files: NetworkFiles::NetworkConfig,
    // The first of several sections for one mapping counts.
    sections: &[NETPLAN_SECTIONS, SECTIONS, OWN_SECTIONS],
    reasons: &[],
    takes,
};
/// For systems with netplan, where nothing translates the file for other programs.
pub(super) const NETPLAN_ALONE: Form = Form {
    name: "netplan's format",
    files: NetworkFiles::Netplan,
    sections: &[ALONE_SECTIONS, NETPLAN_SECTIONS, SECTIONS, OWN_SECTIONS],
    ..NETPLAN
};
pub(super) const OPENSTACK: Form = Form {
    code: "not-in-network-data",
    name: "OpenStack's network_data.json",
    files: NetworkFiles::NetworkData,
    sections: &[SECTIONS, OWN_SECTIONS],
    reasons: &[],
    takes,
};

/// Only netplan has metrics of the routes that the network offers, client ids of DHCP, and settings of a bridge's ports.
const NETPLAN_SECTIONS: &[Section] = &[
    Section::new(
        "interfaces.*.ipv4",
        "enabled dhcp auto-dns auto-routes auto-gateway auto-route-metric address",
        &[("dhcp-client-id", Words(&["ll", "LL", "iaid+duid", "IAID+DUID"]))],
    ),
    Section::new(
        "interfaces.*.ipv6",
        "enabled dhcp autoconf auto-dns auto-routes auto-gateway auto-route-metric address",
        &[("addr-gen-mode", EUI64)],
    ),
    Section::new(
        "interfaces.*.bridge.port.*",
        "name",
        &[
            ("stp-path-cost", Within(1, 65535)),
            // netplan treats 0 as no value, and the kernel then uses 32.
            ("stp-priority", Within(1, 63)),
        ],
    ),
];

/// netplan has options of bonds that some of cloud-init's writers lose.
const ALONE_SECTIONS: &[Section] = &[Section::new(
    "interfaces.*.link-aggregation.options",
    "miimon updelay downdelay lacp_rate primary ad_select all_slaves_active arp_all_targets arp_interval arp_ip_target lp_interval \
     min_links primary_reselect",
    &[
        ("xmit_hash_policy", HASH_POLICIES),
        ("arp_validate", Words(&["none", "0", "active", "1", "backup", "2", "all", "3"])),
        // netplan treats 0 as no value, and the kernel then uses 1.
        ("num_grat_arp", Within(1, 255)),
        ("num_unsol_na", Within(1, 255)),
        ("packets_per_slave", Within(1, 65535)),
        ("resend_igmp", Within(1, 255)),
    ],
)];

const OWN_SECTIONS: &[Section] = &[
    Section::new(
        "interfaces.*.link-aggregation.options",
        "miimon updelay downdelay lacp_rate primary",
        &[("xmit_hash_policy", HASH_POLICIES)],
    ),
    Section::new(
        "interfaces.*.vlan",
        "base-iface id",
        &[
            ("protocol", Words(&["802.1q"])),
            ("registration-protocol", Words(&["none"])),
            ("reorder-headers", Words(&["true"])),
            ("loose-binding", Words(&["false"])),
        ],
    ),
    Section::new(
        "interfaces.*.bridge.options.stp",
        "enabled forward-delay hello-time max-age",
        &[
            // netplan treats 0 as no value, and the kernel then uses 32768.
            ("priority", Within(1, 65535)),
        ],
    ),
    Section::new("routes.config.*", "state destination next-hop-address next-hop-interface", ROUTE),
];
