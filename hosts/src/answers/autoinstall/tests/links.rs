//! Bonds and bridges in a network of the user's own.

use super::*;

/// systemd-networkd ignores the numbers that the kernel also has for these words.
#[test]
fn bond_options_are_words() {
    let bond = BOND.replace("mode: 802.3ad,", "mode: 802.3ad, options: {lacp_rate: fast, xmit_hash_policy: layer3+4},");
    let own = file(&completed(&bond, "version: 1\n").0.unwrap(), AUTOINSTALL_FILE).to_owned();
    assert_eq!(completed(&bond, &own).1, [""; 0]);
    for (key, number) in [("mode", 4), ("lacp-rate", 1), ("transmit-hash-policy", 1)] {
        for number in [Value::from(number), Value::from(number.to_string())] {
            let mut own = value(&own);
            own["network"]["bonds"]["bond0"]["parameters"][key] = number;
            let (files, findings) = completed(&bond, &yaml_text::document(&own));
            assert!(files.is_none() && findings.len() == 1, "{key}: {findings:?}");
            let expected = format!("network.bonds.bond0.parameters.{key} is a number, and netplan");
            assert!(findings[0].contains(&expected) && findings[0].ends_with("[answers-invalid]"), "{findings:?}");
        }
    }
}

/// dayone itself and NetworkManager leave them out. The installer gets the user's network as it is, and with systemd-networkd, the
/// kernel would refuse the whole bond.
#[test]
fn bond_options_without_effect_are_refused() {
    let mut own = value(file(&completed(BOND, "version: 1\n").0.unwrap(), AUTOINSTALL_FILE));
    own["network"]["bonds"]["bond0"]["parameters"]["arp-validate"] = "none".into();
    let mut of_network_manager = own.clone();
    of_network_manager["network"]["renderer"] = "NetworkManager".into();
    let of_network_manager = yaml_text::document(&of_network_manager);
    let own = yaml_text::document(&own);
    let with_option = BOND.replace("mode: 802.3ad,", "mode: 802.3ad, options: {arp_validate: none},");
    for documents in [BOND, with_option.as_str()] {
        let (files, findings) = completed(documents, &own);
        let expected = "network.bonds.bond0.parameters.arp-validate has no effect with keyfiles";
        let is_expected =
            |finding: &String| finding.contains(expected) && finding.ends_with("[answers-contradict-network]");
        assert!(files.is_none() && findings.iter().any(is_expected), "{findings:?}");
        let (files, findings) = completed(documents, &of_network_manager);
        assert!(files.is_some(), "{findings:?}");
    }
}

/// The kernel derives the cost of a port from its speed, and NetworkManager gives all ports the same cost.
#[test]
fn a_bridge_without_the_costs_of_its_ports_is_a_warning() {
    let bridge = "
interfaces:
- {name: eno1, type: ethernet}
- {name: eno2, type: ethernet}
- {name: br0, type: linux-bridge, bridge: {options: {stp: {enabled: true}}, port: [{name: eno1}, {name: eno2}]},
   ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
";
    let without_stp = bridge.replace("stp: {enabled: true}", "stp: {enabled: false}");
    let with_cost = bridge.replace("{name: eno1}, ", "{name: eno1, stp-path-cost: 50}, ");
    for (documents, removed, expected) in [
        (bridge, None, None),
        (
            bridge,
            Some("all"),
            Some("has no parameters.path-cost, and dayone would write {\"eno1\":100,\"eno2\":100}: "),
        ),
        (without_stp.as_str(), Some("all"), None),
        (
            with_cost.as_str(),
            Some("eno2"),
            Some("has an incomplete parameters.path-cost, and dayone would write {\"eno1\":50,\"eno2\":100}: "),
        ),
    ] {
        let mut own = value(file(&completed(documents, "version: 1\n").0.unwrap(), AUTOINSTALL_FILE));
        let parameters = &mut own["network"]["bridges"]["br0"]["parameters"];
        match removed {
            Some("all") => assert!(parameters.as_mapping_mut().unwrap().remove("path-cost").is_some()),
            Some(port) => assert!(parameters["path-cost"].as_mapping_mut().unwrap().remove(port).is_some()),
            None => {}
        }
        let (files, findings) = completed(documents, &yaml_text::document(&own));
        assert!(files.is_some() && findings.len() == expected.iter().len(), "{removed:?}: {findings:?}");
        for (finding, expected) in findings.iter().zip(expected) {
            assert!(finding.contains(&format!("network.bridges.br0 {expected}")), "{finding}");
            assert!(finding.ends_with("[answers-network-incomplete]"), "{finding}");
        }
    }
}
