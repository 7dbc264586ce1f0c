//! Bonds in a network of the user's own.

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

/// dayone itself leaves them out. The installer gets the user's network as it is, and the kernel would refuse the whole bond.
#[test]
fn bond_options_without_effect_are_refused() {
    let mut own = value(file(&completed(BOND, "version: 1\n").0.unwrap(), AUTOINSTALL_FILE));
    own["network"]["bonds"]["bond0"]["parameters"]["arp-validate"] = "none".into();
    let own = yaml_text::document(&own);
    let with_option = BOND.replace("mode: 802.3ad,", "mode: 802.3ad, options: {arp_validate: none},");
    for documents in [BOND, with_option.as_str()] {
        let (files, findings) = completed(documents, &own);
        let expected = "network.bonds.bond0.parameters.arp-validate has no effect with keyfiles";
        let is_expected =
            |finding: &String| finding.contains(expected) && finding.ends_with("[answers-contradict-network]");
        assert!(files.is_none() && findings.iter().any(is_expected), "{findings:?}");
    }
}
