//! The keys of NMState that units can express, and why they cannot express others.

use serde_yaml::Mapping;

use crate::network::form::Values::{self, Within, WithinOrUsual, Words};
use crate::network::form::{Findings, Form, Section};
use crate::nmstate_document::{is_true, mapping, text};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::DocumentPath;

pub(super) const UNITS: Form = Form {
    code: "not-in-networkd-units",
    name: "systemd-networkd units",
    files: NetworkFiles::NetworkdUnits,
    sections: &[SECTIONS],
    reasons: &[
        ("802.1x", "authentication needs wpa_supplicant, and its secrets"),
        ("ethtool", LINK_FILE),
        ("options", "systemd-resolved does not support options of resolv.conf"),
        ("weight", "give one route, or set the others after the installation"),
    ],
    takes,
};
/// Why what is the hardware's is refused.
const LINK_FILE: &str = "only a .link file could, and it would replace the system's own, which gives the NIC its name";
const DOWN: &str = "the interface is down, and networkd keeps no settings for later";

const NUMBER: Values = WithinOrUsual(0, 0xffff_ffff);

const SECTIONS: &[Section] = &[
    // The host name stands in a file of its own.
    Section::new("", "hostname interfaces routes route-rules dns-resolver", &[]),
    Section::new(
        "interfaces.*",
        "name type state identifier profile-name controller description pci-address mac-address copy-mac-from \
         accept-all-mac-addresses lldp ethernet ipv4 ipv6 link-aggregation bridge vlan vrf",
        &[("mtu", Within(68, 65535)), ("wait-ip", Words(&["any", "ipv4", "ipv6", "ipv4+ipv6"]))],
    ),
    Section::new("interfaces.*.lldp", "enabled", &[]),
    Section { why: LINK_FILE, ..Section::new("interfaces.*.ethernet", "", &[("auto-negotiation", Words(&["true"]))]) },
    Section::new(
        "interfaces.*.ipv4",
        "enabled dhcp auto-dns auto-routes auto-gateway auto-route-table-id auto-route-metric \
         prefix-route-metric dhcp-send-hostname dhcp-custom-hostname address",
        &[("dhcp-client-id", Words(&["ll", "LL"]))],
    ),
    Section::new(
        "interfaces.*.ipv6",
        "enabled dhcp autoconf auto-dns auto-routes auto-gateway auto-route-table-id auto-route-metric \
         prefix-route-metric dhcp-send-hostname token address",
        &[("dhcp-duid", Words(&["ll", "LL"])), ("addr-gen-mode", Words(&["eui64", "EUI64", "Eui64"]))],
    ),
    Section::new("interfaces.*.ipv4.address.*", "ip prefix-length", LIFETIMES),
    Section::new("interfaces.*.ipv6.address.*", "ip prefix-length", LIFETIMES),
    Section::new("interfaces.*.link-aggregation", "mode options port ports-config", &[]),
    Section {
        why: "the only setting that they have for a bond's ports is the primary one",
        ..Section::new("interfaces.*.link-aggregation.ports-config.*", "name", &[])
    },
    Section::new(
        "interfaces.*.link-aggregation.options",
        "ad_actor_sys_prio ad_actor_system ad_select ad_user_port_key all_slaves_active arp_all_targets \
         arp_interval arp_ip_target downdelay fail_over_mac lacp_rate lp_interval miimon min_links \
          num_grat_arp num_unsol_na packets_per_slave primary primary_reselect resend_igmp tlb_dynamic_lb \
           updelay",
        &[
            ("arp_validate", Words(&["none", "0", "active", "1", "backup", "2", "all", "3"])),
            // The kernel no longer has another way.
            ("use_carrier", Words(&["true", "1"])),
            (
                "xmit_hash_policy",
                Words(&["layer2", "0", "layer3+4", "1", "layer2+3", "2", "encap2+3", "3", "encap3+4", "4"]),
            ),
        ],
    ),
    Section::new("interfaces.*.bridge", "options port", &[]),
    Section::new(
        "interfaces.*.bridge.port.*",
        "name stp-priority stp-hairpin-mode vlan",
        &[("stp-path-cost", Within(1, 65535))],
    ),
    Section {
        why: "dayone writes no [BridgeVLAN] sections",
        ..Section::new("interfaces.*.bridge.port.*.vlan", "", &[])
    },
    Section::new(
        "interfaces.*.bridge.options",
        "stp mac-ageing-time group-forward-mask group-fwd-mask multicast-snooping multicast-querier \
         vlan-protocol",
        &[
            // Without VLAN filtering nmstate takes no other.
            ("vlan-default-pvid", Words(&["1"])),
        ],
    ),
    Section::new(
        "interfaces.*.bridge.options.stp",
        "enabled forward-delay hello-time max-age",
        &[
            // 0 counts as no value there, and the kernel then uses 32768.
            ("priority", Within(1, 65535)),
        ],
    ),
    Section::new(
        "interfaces.*.vlan",
        "base-iface id protocol loose-binding reorder-headers ingress-qos-map egress-qos-map",
        &[("registration-protocol", Words(&["gvrp", "mvrp", "none"]))],
    ),
    Section::new("interfaces.*.vrf", "route-table-id port", &[]),
    Section::new("routes", "config", &[]),
    Section::new(
        "routes.config.*",
        "state destination table-id next-hop-address next-hop-interface source route-type vrf-name advmss \
         quickack lock-mtu",
        &[
            ("metric", NUMBER),
            ("mtu", Within(68, 0xffff_ffff)),
            ("initcwnd", Within(1, 1023)),
            ("initrwnd", Within(1, 1023)),
        ],
    ),
    Section::new("route-rules", "config", &[]),
    Section::new(
        "route-rules.config.*",
        "state ip-from ip-to family action route-table fwmark fwmask iif suppress-prefix-length",
        &[("priority", NUMBER)],
    ),
    Section::new("dns-resolver", "config", &[]),
    Section::new("dns-resolver.config", "server search", &[]),
];

const LIFETIMES: &[(&str, Values)] = &[("valid-life-time", Words(&["forever"]))];

/// The keys of an interface that is down: what it is, and how it would be found.
const OF_DOWN: [&str; 10] =
    ["name", "type", "state", "identifier", "profile-name", "controller", "description", "pci-address", "ipv4", "ipv6"];

/// Whether an interface has settings that units can express.
fn takes(interface: &Mapping, path: &DocumentPath, findings: &mut Findings<'_>) -> bool {
    let kind = text(interface, "type").unwrap_or("ethernet");
    if let Some(problem) = problem_of(kind) {
        findings.refuse(&path.key("type"), &format!("it is {kind}, and {problem}"));
        return false;
    }
    if text(interface, "state") != Some("down") {
        return true;
    }
    if kind != "ethernet" {
        findings.refuse(
            &path.key("state"),
            "units create the interface at once, and cannot keep it down; leave the interface out",
        );
    }
    for family in ["ipv4", "ipv6"] {
        if mapping(interface, family).is_some_and(|ip| is_true(ip.get("enabled"))) {
            findings.refuse(&path.key(family), DOWN);
        }
    }
    let is_found_by_mac = text(interface, "identifier") == Some("mac-address");
    for (key, value) in interface {
        let Some(key) = key.as_str().filter(|key| !OF_DOWN.contains(key) && !value.is_null()) else { continue };
        if !(is_found_by_mac && key == "mac-address") {
            findings.refuse_key(key, &path.key(key), DOWN);
        }
    }
    false
}

/// Why there are no units for interfaces of a type.
fn problem_of(kind: &str) -> Option<&'static str> {
    match kind {
        "ethernet" | "bond" | "linux-bridge" | "vlan" | "vrf" | "dummy" | "loopback" => None,
        "macsec" => Some("its key would be a secret in a file that everyone can read"),
        _ => Some("dayone makes units of ethernet, bond, vlan, linux-bridge, vrf, dummy and addresses of the loopback"),
    }
}
