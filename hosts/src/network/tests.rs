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

#[test]
fn a_nic_that_cannot_log_in_is_refused() {
    let nic = "- {name: e, type: ethernet, 802.1x: {identity: x, …}}";
    let at = "authentication-secret-missing interfaces[1][\"802.1x\"]";
    let tls = "eap-methods: [tls], client-cert: /c, private-key: /k";
    let password = format!("{tls}, private-key-password: p");
    for (there, otherwise, key) in [
        ("eap-methods: [md5]", "eap-methods: [md5], password: p", "password"),
        ("eap-methods: [pwd], password: ''", "eap-methods: [pwd], password: p", "password"),
        ("eap-methods: [peap], phase2-auth: gtc", "eap-methods: [peap], phase2-auth: otp", "password"),
        ("eap-methods: [sim]", "eap-methods: [external]", "pin"),
        (tls, password.as_str(), "private-key-password"),
        (
            "eap-methods: [ttls], phase2-auth: tls",
            "eap-methods: [ttls], phase2-auth: otp",
            "phase2-private-key-password",
        ),
    ] {
        lost(nic, there, otherwise, &format!("error {at}.{key}"));
    }
    let token = tls.replace("/k", "'pkcs11:k'");
    lost(nic, &token, &password, &format!("warning {at}.private-key-password"));
}

#[test]
fn settings_of_hardware_have_no_effect_on_other_interfaces() {
    let unused = "warning value-unused interfaces[1]";
    let bond = "type: bond, link-aggregation: {mode: active-backup, port: [eth0]}";
    for other in ["type: dummy", bond, "type: vlan, vlan: {base-iface: eth9, id: 5}"] {
        let login = "- {name: o, …, 802.1x: {identity: x, eap-methods: [md5], password: p}}";
        lost(login, other, "type: ethernet", &format!("{unused}[\"802.1x\"]"));
        lost("- {name: o, …, ethtool: {ring: {rx: 5}}}", other, "type: ethernet", &format!("{unused}.ethtool.ring.rx"));
    }
    let fec = "- {name: e, type: ethernet, ethtool: {fec: {…, mode: rs}}}";
    lost(fec, "auto: true", "auto: false", "warning not-in-keyfiles interfaces[1].ethtool.fec.mode");
}

#[test]
fn names_that_no_server_gets_and_options_that_no_resolver_gets_are_reported() {
    let name = "- {name: e, type: ethernet, ipv4: {enabled: true, dhcp: true, dhcp-custom-hostname: …}}";
    let at = "interfaces[1].ipv4.dhcp-custom-hostname";
    lost(name, "a b", "a-b", &format!("warning value-unused {at}"));
    lost(name, "a, dhcp-send-hostname: false", "a, dhcp-send-hostname: true", &format!("warning not-in-keyfiles {at}"));
    let of = |options: &str, servers: &str| {
        format!(
            "- {{name: e, type: ethernet, ipv4: {{enabled: true, address: [{{ip: 192.0.2.5, prefix-length: 24}}]}}, ipv6: \
             {{enabled: true, address: [{{ip: '2001:db8::5', prefix-length: 64}}]}}}}\ndns-resolver: {{config: {{options: \
             [{options}], server: [{servers}]}}}}\n"
        )
    };
    let finding = "warning value-unused dns-resolver.config.options";
    lost(&of("…", "192.0.2.1"), "'ndots:x'", "'ndots:3'", finding);
    lost(&of("…", "192.0.2.1"), "inet6", "rotate", finding);
    lost(&of("inet6", "…"), "192.0.2.1", "'2001:db8::1'", finding);
    lost(&of("trust-ad", "192.0.2.1…"), ", '2001:db8::1'", ", 192.0.2.2", finding);
}

#[test]
fn an_address_is_copied_from_a_port_with_settings() {
    let yaml = "interfaces:\n- {name: up, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'}\n- {name: b, type: \
                bond, copy-mac-from: up, link-aggregation: {mode: active-backup, ports-config: [{name: up, queue-id: 1}]}, ipv4: \
                {enabled: true, dhcp: true}}\n";
    let document = NmstateDocument::new(serde_yaml::from_str(yaml).unwrap(), DocumentPath::root());
    let (network, report) = convert(&HostSpec::with_network(document));
    let network = network.unwrap_or_else(|| panic!("{:?}", report.findings()));
    let content = |name: &str| &network.keyfiles.iter().find(|keyfile| keyfile.name.as_str() == name).unwrap().content;
    assert!(
        content("b.nmconnection").contains("cloned-mac-address=52:54:00:00:00:01"),
        "{}",
        content("b.nmconnection")
    );
    assert!(content("up.nmconnection").contains("[bond-port]\nqueue-id=1"), "{}", content("up.nmconnection"));
}
