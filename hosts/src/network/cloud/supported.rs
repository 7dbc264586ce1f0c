//! The keys of NMState that both formats can express, and why they cannot express others.

use crate::network::devices::takes;
use crate::network::form::Values::{Within, WithinOrUsual, Words};
use crate::network::form::{Form, Section};

pub(super) const NETPLAN: Form =
    Form { code: "not-in-netplan", name: "cloud-init's network-config", sections: SECTIONS, reasons: &[], takes };
pub(super) const OPENSTACK: Form = Form {
    code: "not-in-network-data",
    name: "OpenStack's network_data.json",
    sections: SECTIONS,
    reasons: &[],
    takes,
};

/// Of some settings, both formats can express only the value that is the default.
const SECTIONS: &[Section] = &[
    // The host name stands in a file of its own.
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
        "miimon updelay downdelay lacp_rate primary",
        &[(
            "xmit_hash_policy",
            Words(&["layer2", "0", "layer3+4", "1", "layer2+3", "2", "encap2+3", "3", "encap3+4", "4"]),
        )],
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
    Section::new("interfaces.*.bridge", "port options", &[]),
    Section::new("interfaces.*.bridge.port.*", "name", &[]),
    Section::new("interfaces.*.bridge.options", "stp", &[]),
    Section::new("interfaces.*.bridge.options.stp", "enabled forward-delay hello-time max-age priority", &[]),
    Section::new("routes", "config", &[]),
    Section::new(
        "routes.config.*",
        "state destination next-hop-address next-hop-interface",
        &[
            ("metric", WithinOrUsual(0, 0xffff_ffff)),
            // Both are the main table.
            ("table-id", Words(&["0", "254"])),
        ],
    ),
    Section::new("dns-resolver", "config", &[]),
    Section::new("dns-resolver.config", "server search", &[]),
];
