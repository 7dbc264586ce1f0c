//! Settings that nmstate leaves out under a condition, each with the finding that says so.

use super::convert;
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

fn findings(interfaces: &str) -> Vec<String> {
    let yaml =
        format!("interfaces:\n- {{name: eth9, type: ethernet, ipv4: {{enabled: true, dhcp: true}}}}\n{interfaces}");
    let document = NmstateDocument::new(serde_yaml::from_str(&yaml).unwrap(), DocumentPath::root());
    let (_, report) = convert(&HostSpec::with_network(document));
    report.findings().iter().map(|finding| format!("{} {} {}", finding.severity, finding.code, finding.path)).collect()
}

/// The document with `there` in place of `…` has the finding, and with `otherwise` it has not.
fn lost(interface: &str, there: &str, otherwise: &str, finding: &str) {
    let with = |text: &str| findings(&interface.replace('…', text));
    assert!(with(there).iter().any(|found| found == finding), "{interface}: {there}: {:?}", with(there));
    assert!(!with(otherwise).iter().any(|found| found == finding), "{interface}: {otherwise}: {:?}", with(otherwise));
}

#[test]
fn addresses_that_the_kernel_chooses_are_not_set() {
    let finding = "warning not-in-keyfiles interfaces[1].mac-address";
    let bond = "- {name: b, type: bond, mac-address: '02:00:00:00:00:01', link-aggregation: {…, port: [eth0]}}";
    for active in ["mode: active-backup, options: {fail_over_mac: active}", "mode: 1, options: {fail_over_mac: '1'}"] {
        lost(bond, active, "mode: active-backup, options: {fail_over_mac: follow}", finding);
    }
    lost(
        "- {name: v, …, mac-address: '02:00:00:00:00:01'}",
        "type: vrf, vrf: {route-table-id: 100, port: []}",
        "type: dummy",
        finding,
    );
}

#[test]
fn settings_of_the_other_family_are_reported() {
    let interface = "- {name: e, type: ethernet, …}";
    for (there, otherwise, setting) in [
        ("ipv4: {enabled: true, dhcp: true, dhcp-duid: uuid}", "ipv4: {enabled: true, dhcp: true}", "ipv4.dhcp-duid"),
        ("ipv4: {enabled: true, dhcp: true, token: '::1'}", "ipv4: {enabled: true, dhcp: true}", "ipv4.token"),
        (
            "ipv6: {enabled: true, dhcp-client-id: ll}",
            "ipv4: {enabled: false, dhcp-client-id: ll}",
            "ipv6.dhcp-client-id",
        ),
        ("ipv4: {enabled: false, forwarding: true}", "ipv4: {enabled: true, forwarding: true}", "ipv4.forwarding"),
    ] {
        lost(interface, there, otherwise, &format!("warning not-in-keyfiles interfaces[1].{setting}"));
    }
    let refused = "error token-without-eui64 interfaces[1].ipv6.token";
    let token = "ipv6: {enabled: true, token: '::1', addr-gen-mode: stable-privacy, autoconf: …, dhcp: …}";
    lost(&interface.replace('…', token), "true", "false", refused);
    assert!(
        findings(&interface.replace('…', "ipv4: {enabled: true, dhcp: true, dhcp-duid: uuid}"))
            .iter()
            .all(|found| !found.starts_with("error"))
    );
}

#[test]
fn a_protocol_loses_its_address_unless_it_is_the_kernels() {
    let interface = "- {name: e, type: ethernet, ipv6: {enabled: true, address: [{ip: '2001:db8::1', prefix-length: 64, protocol: …}]}}";
    let at = "interfaces[1].ipv6.address[0].protocol";
    for other in ["186", "'0xba'", "0"] {
        lost(interface, other, "kernel_ll", &format!("error address-lost {at}"));
    }
    for kernels in ["lo", "ra", "2", "'0x3'"] {
        lost(interface, kernels, "4", &format!("warning reported-only {at}"));
    }
}

#[test]
fn virtual_functions_and_promiscuous_mode_are_lost_under_conditions() {
    let functions = "- {name: e, type: ethernet, ethernet: {sr-iov: {total-vfs: …}}}";
    let at = "warning not-in-keyfiles interfaces[1].ethernet.sr-iov";
    lost(functions, "0, drivers-autoprobe: true", "1, drivers-autoprobe: true", &format!("{at}.drivers-autoprobe"));
    lost(functions, "1, vfs: [{id: 0, qos: 5}]", "1, vfs: [{id: 0, vlan-id: 7, qos: 5}]", &format!("{at}.vfs[0].qos"));
    let all = "warning not-in-keyfiles interfaces[1].accept-all-mac-addresses";
    let infiniband = "type: infiniband, infiniband: {mode: datagram}";
    lost("- {name: i, …, accept-all-mac-addresses: true}", infiniband, "type: ethernet", all);
}

#[test]
fn an_address_is_copied_from_the_nics_own() {
    let yaml = "interfaces:\n- {name: eth0, type: ethernet, permanent-mac-address: '52:54:00:00:00:01', mac-address: '02:00:00:00:00:01'}\n\
                - {name: b, type: bond, copy-mac-from: eth0, link-aggregation: {mode: active-backup, port: [eth0]}, ipv4: {enabled: true, \
                dhcp: true}}\n";
    for yaml in [yaml.to_owned(), yaml.replace(", mac-address: '02:00:00:00:00:01'", "")] {
        let document = NmstateDocument::new(serde_yaml::from_str(&yaml).unwrap(), DocumentPath::root());
        let (network, report) = convert(&HostSpec::with_network(document));
        let network = network.unwrap_or_else(|| panic!("{:?}", report.findings()));
        let bond = network.keyfiles.iter().find(|keyfile| keyfile.name.as_str() == "b.nmconnection").unwrap();
        assert!(bond.content.contains("cloned-mac-address=52:54:00:00:00:01"), "{}", bond.content);
        let mac = network.topology.interface("b").unwrap().mac;
        assert_eq!(mac.map(|mac| mac.to_string()).as_deref(), Some("52:54:00:00:00:01"));
    }
}
