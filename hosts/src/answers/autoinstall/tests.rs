mod links;

use proptest::prelude::*;

use super::*;
use crate::answers::testing::{self, BOND, STATIC, file};
use vocabulary::answers::Installer;

fn completed(nmstate: &str, text: &str) -> (Option<Vec<InstallerFile>>, Vec<String>) {
    testing::completed(Installer::Autoinstall, nmstate, text)
}

const ANSWERS: &str = "version: 1\nidentity: {hostname: worker-0.example.com, username: u, password: hunter2}\n";

fn value(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

#[test]
fn the_network_is_added_behind_the_file() {
    let (files, findings) = completed(STATIC, ANSWERS);
    assert_eq!(findings, [""; 0]);
    let files = files.unwrap();
    let written = file(&files, AUTOINSTALL_FILE);
    assert!(written.starts_with(ANSWERS), "{written}");
    // Without quotes, it is a number to base 60 for the installer.
    assert!(written.contains("macaddress: \"52:54:00:00:00:01\"\n"), "{written}");
    let network = &value(written)["network"];
    assert_eq!(
        (&network["version"], &network["ethernets"]["eno1"]["match"]["macaddress"]),
        (&2.into(), &"52:54:00:00:00:01".into())
    );
    assert_eq!(network["ethernets"]["eno2"]["addresses"], value("[198.51.100.10/25]"));
    assert!(!format!("{files:?}").contains("hunter2"));
    let bond = completed(BOND, "version: 1").0.unwrap();
    assert_eq!(value(file(&bond, AUTOINSTALL_FILE))["network"]["vlans"]["bond0.7"]["link"], "bond0");
}

#[test]
fn what_is_around_the_answers_for_cloud_init_goes() {
    let wrapped = format!("#cloud-config\nautoinstall:\n  {}", ANSWERS.replace('\n', "\n  "));
    for text in
        [wrapped.as_str(), "---\n'autoinstall':\n    version: 1\n    late-commands:\n    - |\n      yes\n\n      no\n"]
    {
        let (files, findings) = completed(STATIC, text);
        assert_eq!(findings, [""; 0], "{text}");
        let mut written = value(file(&files.unwrap(), AUTOINSTALL_FILE));
        assert!(written.as_mapping_mut().unwrap().remove("network").is_some());
        assert_eq!(written, value(text)["autoinstall"]);
    }
}

#[test]
fn a_network_of_the_users_own_must_be_that_of_the_documents() {
    let mut own = file(&completed(STATIC, ANSWERS).0.unwrap(), AUTOINSTALL_FILE).to_owned();
    assert_eq!(completed(STATIC, &own).1, [""; 0]);
    // What netplan has a default for, and most files leave out.
    for line in ["    accept-ra: false\n", "    dhcp6: false\n"] {
        own = own.replace(&format!("  {line}"), "");
    }
    let (files, findings) = completed(STATIC, &own);
    assert_eq!(findings, [""; 0], "{own}");
    assert_eq!(file(&files.unwrap(), AUTOINSTALL_FILE), own);
    let unquoted = own.replace("\"52:54:00:00:00:01\"", "52:54:00:00:00:01");
    let line = unquoted.lines().position(|line| line.contains("52:54")).unwrap() + 1;
    let (files, findings) = completed(STATIC, &unquoted);
    assert!(files.is_none(), "the installer would read a number");
    assert!(findings[0].contains(&format!("line {line} has a MAC address without quotes")), "{findings:?}");
    let wrapped = format!("# x\nautoinstall:\n  {}", unquoted.replace('\n', "\n  "));
    let (_, findings) = completed(STATIC, &wrapped);
    assert!(findings[0].contains(&format!("line {} has a MAC address without quotes", line + 2)), "{findings:?}");
    // The rest of the file is not the network's, unless the network says that it is.
    let elsewhere = own.replacen("version: 1\n", "version: 1\nlabel: &mac 12:34:56:12:34:56\n", 1);
    assert_eq!(completed(STATIC, &elsewhere).1, [""; 0]);
    let alias = elsewhere.replace("12:34:56:12:34:56", "52:54:00:00:00:01").replace("\"52:54:00:00:00:01\"", "*mac");
    let (_, findings) = completed(STATIC, &alias);
    assert!(findings[0].contains("line 2 has a MAC address without quotes"), "{alias}: {findings:?}");
    for number in ["01500", "+01500", "0o1500"] {
        let octal = own.replacen("    eno1:\n", &format!("    eno1:\n      mtu: {number}\n"), 1);
        let (_, findings) = completed(STATIC, &octal);
        assert!(findings[0].contains("or a number with 0 in front"), "{number}: {findings:?}");
    }
    for (from, to, finding) in [
        ("192.0.2.10/24", "192.0.2.11/24", "network.ethernets.eno1.addresses is [\"192.0.2.11/24\""),
        ("\"192.0.2.1\"", "\"192.0.2.2\"", "network.ethernets.eno1.routes is "),
        ("dhcp4: false", "dhcp4: true", "network.ethernets.eno1.dhcp4 is true"),
        ("    eno2:", "    eno3:", "network.ethernets.eno2 is nothing"),
        ("hostname: worker-0", "hostname: worker-1", "identity.hostname is \"worker-1.example.com\""),
    ] {
        assert!(own.contains(from), "{from}: {own}");
        let (files, findings) = completed(STATIC, &own.replace(from, to));
        assert!(files.is_none() && findings.len() == 1, "{to}: {findings:?}");
        assert!(findings[0].contains(finding) && findings[0].ends_with("[answers-contradict-network]"), "{findings:?}");
        assert!(!findings[0].contains("hunter2"));
    }
}

/// The installer gets the user's network as it is.
#[test]
fn a_network_that_leaves_out_what_dayone_would_write_is_a_warning() {
    let bond = "
interfaces:
- {name: eno1, type: ethernet, mac-address: '02:00:00:00:00:01'}
- {name: eno2, type: ethernet, mac-address: '02:00:00:00:00:02'}
- {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eno2, eno1]}, ipv4: {enabled: true, dhcp: true}}
";
    let whole = file(&completed(bond, "version: 1\n").0.unwrap(), AUTOINSTALL_FILE).to_owned();
    assert_eq!(completed(bond, &whole).1, [""; 0]);
    let without = |remove: &[(&str, &str)]| {
        let mut own = value(&whole);
        for (at, key) in remove {
            let bond = &mut own["network"]["bonds"]["bond0"];
            let at = if at.is_empty() { bond } else { &mut bond[*at] };
            assert!(at.as_mapping_mut().unwrap().remove(*key).is_some(), "{key}: {whole}");
        }
        own
    };
    let mac = "network.bonds.bond0 has no macaddress, and dayone would write \"02:00:00:00:00:01\": ";
    let identifier = "network.bonds.bond0 has no dhcp-identifier, and dayone would write \"mac\": ";
    let metric = "network.bonds.bond0 has no dhcp4-overrides.route-metric, and dayone would write 300: ";
    let domains = "network.bonds.bond0 has no dhcp4-overrides.use-domains, and dayone would write true: ";
    let monitor = "network.bonds.bond0 has no parameters.mii-monitor-interval, and dayone would write ";
    let all = [("", "macaddress"), ("", "dhcp-identifier"), ("", "dhcp4-overrides")];
    for (remove, expected) in [
        (&all[..1], &[mac][..]),
        (&all[1..2], &[identifier]),
        (&all[2..], &[metric, domains]),
        (&[("dhcp4-overrides", "use-domains")], &[domains]),
        (&[("parameters", "mii-monitor-interval")], &[monitor]),
        (&all[..], &[mac, identifier, metric, domains]),
    ] {
        let mut own = without(remove);
        let (files, findings) = completed(bond, &yaml_text::document(&own));
        assert!(files.is_some() && findings.len() == expected.len(), "{remove:?}: {findings:?}");
        for (finding, expected) in findings.iter().zip(expected) {
            assert!(finding.contains(expected) && finding.ends_with("[answers-network-incomplete]"), "{finding}");
        }
        // NetworkManager does what it does with keyfiles.
        own["network"]["renderer"] = "NetworkManager".into();
        let findings = completed(bond, &yaml_text::document(&own)).1;
        assert!(findings.len() == 1 && findings[0].ends_with("[answers-unchecked]"), "{findings:?}");
    }
    // None of this depends on the order of the ports.
    let mut own = value(&whole);
    own["network"]["bonds"]["bond0"]["interfaces"].as_sequence_mut().unwrap().reverse();
    assert_eq!(completed(bond, &yaml_text::document(&own)).1, [""; 0]);
    let fixed = bond.replace("dhcp: true", "address: [{ip: 192.0.2.10, prefix-length: 24}]");
    let mut own = value(file(&completed(&fixed, "version: 1\n").0.unwrap(), AUTOINSTALL_FILE));
    assert!(own["network"]["bonds"]["bond0"].as_mapping_mut().unwrap().remove("macaddress").is_some());
    assert_eq!(completed(&fixed, &yaml_text::document(&own)).1, [""; 0]);
    // The documents set this address of the bond: dayone has not taken it from a port.
    let with_address = fixed.replace("type: bond,", "type: bond, mac-address: '52:54:00:aa:bb:cc',");
    let mut own = value(file(&completed(&with_address, "version: 1\n").0.unwrap(), AUTOINSTALL_FILE));
    assert!(own["network"]["bonds"]["bond0"].as_mapping_mut().unwrap().remove("macaddress").is_some());
    let findings = completed(&with_address, &yaml_text::document(&own)).1;
    assert!(findings.len() == 1 && findings[0].ends_with("[answers-contradict-network]"), "{findings:?}");
}

/// The id of a NIC that `match` finds is not its name.
#[test]
fn a_nic_is_compared_by_its_name() {
    let dhcp = "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]";
    let by_mac = dhcp.replace("state: up", "identifier: mac-address, mac-address: '52:54:00:00:00:0a'");
    let own = |nic: &str| format!("version: 1\nnetwork: {{version: 2, ethernets: {{lan: {{dhcp4: true, {nic}}}}}}}\n");
    let overrides = "dhcp4-overrides: {use-domains: true}";
    for (nmstate, found) in
        [(dhcp, "match: {name: eno1}"), (by_mac.as_str(), "match: {macaddress: '52:54:00:00:00:0a'}, set-name: eno1")]
    {
        let findings = completed(nmstate, &own(&format!("{found}, dhcp-identifier: mac, {overrides}"))).1;
        assert_eq!(findings, [""; 0], "{found}");
        let findings = completed(nmstate, &own(found)).1;
        assert!(findings.len() == 2, "{findings:?}");
        assert!(findings.iter().all(|finding| finding.ends_with("[answers-network-incomplete]")), "{findings:?}");
        let (files, findings) = completed(nmstate, &own(&format!("{found}, dhcp-identifier: duid, {overrides}")));
        assert!(files.is_none() && findings.len() == 1, "{findings:?}");
        assert!(findings[0].contains("dhcp-identifier is \"duid\""), "{findings:?}");
    }
}

/// netplan or the installer refuses these; the acceptance tests ask netplan.
#[test]
fn a_network_that_the_installer_refuses_is_refused() {
    let mut own = value(file(&completed(STATIC, ANSWERS).0.unwrap(), AUTOINSTALL_FILE));
    own["network"]["ethernets"]["eno2"].as_mapping_mut().unwrap().remove("link-local");
    let own = yaml_text::document(&own);
    assert_eq!(completed(STATIC, &own).1, [""; 0], "{own}");
    let finding = |text: &str| {
        let (files, findings) = completed(STATIC, text);
        assert!(files.is_none() && findings.len() == 1, "{text}: {findings:?}");
        assert!(!findings[0].contains("hunter2"), "{findings:?}");
        findings[0].clone()
    };
    let with = |member: &str| own.replacen("    eno2:\n", &format!("    eno2:\n      {member}\n"), 1);
    for (text, expected) in [
        (own.replace("  version: 2", "  version: '2'"), "network.version is not the number 2"),
        (own.replace("  version: 2\n", ""), "network has no member version"),
        (format!("{ANSWERS}network: null\n"), "network is not a mapping"),
        (format!("{ANSWERS}network: {{version: 1, config: []}}\n"), "network.version is not the number 2"),
        (own.replace("  version: 2", "  version: 2\n  foo: {}"), "network.foo is unknown here"),
        (own.replace("  version: 2", "  version: 2\n  renderer: sd-networkd"), "network.renderer is not networkd or"),
        (with("renderer: sd-networkd"), "network.ethernets.eno2.renderer is not networkd or NetworkManager"),
        (with("optional: maybe"), "network.ethernets.eno2.optional is not true or false"),
        (with("wakeonlan: maybe"), "network.ethernets.eno2.wakeonlan is not true or false"),
        (with("optional-addresses: [x]"), "network.ethernets.eno2.optional-addresses is not a list of"),
        (with("mtu: null"), "network.ethernets.eno2.mtu is empty"),
        (with("gateway4: ''"), "network.ethernets.eno2.gateway4 is an empty text"),
        (with("hidden: false"), "network.ethernets.eno2.hidden is unknown here"),
        (with("bridge_waitport: 3"), "network.ethernets.eno2.bridge_waitport is unknown here"),
        (with("use-ntp: true"), "network.ethernets.eno2.use-ntp is unknown here"),
        (
            with("dhcp4-overrides: {use-ntp: maybe}"),
            "network.ethernets.eno2.dhcp4-overrides.use-ntp is not true or false",
        ),
        (with("set-name: lan0"), "network.ethernets.eno2.set-name needs match"),
        (with("mtu: 9000.0"), "network.ethernets.eno2.mtu is not a whole number from 0 to 4294967295"),
        (with("nameservers: {search: example.com}"), "network.ethernets.eno2.nameservers.search is not a list"),
        (
            with("match: {macaddress: 52-54-00-00-00-0a}"),
            "network.ethernets.eno2.match.macaddress is not a MAC address with colons",
        ),
    ] {
        let found = finding(&text);
        assert!(found.contains(expected) && found.ends_with("[answers-invalid]"), "{expected}: {found}");
    }
    let mut both = value(&own);
    let families = value("{dhcp4: true, dhcp6: true, dhcp6-overrides: {use-dns: false}}");
    let nic = both["network"]["ethernets"]["eno2"].as_mapping_mut().unwrap();
    nic.extend(families.as_mapping().unwrap().clone());
    let found = finding(&yaml_text::document(&both));
    assert!(found.contains("network.ethernets.eno2 has another use-dns in dhcp4-overrides than in"), "{found}");
    let renamed = finding(&with("match: {name: eno2}\n      set-name: lan0"));
    assert!(renamed.contains("network.ethernets.eno2.set-name renames \"eno2\" to \"lan0\""), "{renamed}");
    // What dayone's reader refuses keeps its reason and its place.
    for (text, expected) in [
        (with("gateway6: x"), "network.ethernets.eno2.gateway6 is "),
        (with("link-local: [ipv4]"), "network.ethernets.eno2.link-local cannot be kept: "),
        (with("unknown-key: 1"), "network.ethernets.eno2.unknown-key is unknown here"),
        (with("mtu: 1500\n      mtu: 1500"), "network.ethernets.eno2.mtu appears twice"),
        (
            own.replace("198.51.100.10/25", "198.51.100.10"),
            "network.ethernets.eno2.addresses[0] is 198.51.100.10, which",
        ),
        (
            own.replace("  version: 2", "  version: 2\n  wifis: {wlan0: {access-points: {x: {password: hunter2}}}}"),
            "network.wifis cannot be kept: ",
        ),
    ] {
        let found = finding(&text);
        assert!(
            found.contains(expected) && found.contains("remove network from the file, and dayone writes it"),
            "{expected}: {found}"
        );
    }
    let wrapped = format!("autoinstall:\n  {}", with("gateway6: x").replace('\n', "\n  "));
    assert!(finding(&wrapped).contains("autoinstall.network.ethernets.eno2.gateway6 is "));
    // A setting that dayone does not compare is reported, unless it has netplan's default.
    for (member, count) in [
        ("optional: true", 1),
        ("wakeonlan: true", 1),
        ("renderer: networkd", 1),
        ("optional: 'on'", 1),
        ("optional: 'off'", 0),
        ("optional: false", 0),
    ] {
        let (files, findings) = completed(STATIC, &with(member));
        assert!(files.is_some() && findings.len() == count, "{member}: {findings:?}");
        assert!(
            findings
                .iter()
                .all(|finding| finding.ends_with("is not compared with the host's documents [answers-unchecked]"))
        );
    }
    assert_eq!(completed(STATIC, &with("match: {name: eno2}\n      set-name: eno2")).1, [""; 0]);
}

/// A block scalar at the end takes what follows it, and nothing may follow the end of a document.
#[test]
fn the_network_is_added_before_the_first_member_where_the_end_is_not_safe() {
    for (text, is_at_end) in [
        ("version: 1\nlate-commands:\n- |\n  echo hi", false),
        ("version: 1\nlate-commands:\n- |\n  echo hi\n", true),
        ("version: 1\nlate-commands:\n- |+\n  echo hi\n\n", false),
        ("# comment\n---\nversion: 1\n...\n", false),
        ("  version: 1\n  late-commands: [a]\n", false),
        ("\u{feff}version: 1\n", true),
        ("\u{feff}version: 1\n...\n", false),
        ("\u{feff}autoinstall:\n  version: 1\n", true),
        ("autoinstall:\n  version: 1\n  late-commands:\n  - |+\n    echo hi\n\n", false),
    ] {
        let (files, findings) = completed(STATIC, text);
        assert_eq!(findings, [""; 0], "{text}");
        let files = files.unwrap();
        let written = file(&files, AUTOINSTALL_FILE);
        let mut all = yaml_mapping(written).unwrap();
        assert!(all.remove(NETWORK).is_some());
        let given = yaml_mapping(text).unwrap();
        assert_eq!(
            all,
            given.get(WRAPPER).map_or(given.clone(), |inner| inner.as_mapping().unwrap().clone()),
            "{text}"
        );
        let ends_with_network = written.rfind("network:").unwrap() > written.rfind("version: 1").unwrap();
        assert_eq!(ends_with_network, is_at_end, "{written}");
    }
}

/// The network gives the name servers, and the documents the search domains.
#[test]
fn search_domains_beside_dhcp_are_compared() {
    let dhcp = "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]\n\
                dns-resolver: {config: {search: [a.example]}}";
    let own = file(&completed(dhcp, "version: 1\n").0.unwrap(), AUTOINSTALL_FILE).to_owned();
    assert!(own.contains("a.example"), "{own}");
    assert_eq!(completed(dhcp, &own).1, [""; 0]);
    let (files, findings) = completed(dhcp, &own.replace("a.example", "b.example"));
    assert!(files.is_none() && findings.len() == 1, "{findings:?}");
    assert!(findings[0].contains("network.ethernets.eno1.nameservers.search is [\"b.example\"]"), "{findings:?}");
}

#[test]
fn what_the_installer_or_dayone_cannot_read_is_refused() {
    for (text, finding) in [
        ("", "is not a mapping"),
        ("- a\n", "is not a mapping"),
        ("a: b\n", "has no member version, which the installer requires"),
        ("autoinstall:\n  a: b\n", "autoinstall has no member version"),
        ("version: '1'\n", "version is not 1"),
        ("autoinstall:\n  version: 2\n", "autoinstall.version is not 1"),
        ("version: 1\nversion: 1\n", "version appears twice in one mapping"),
        ("autoinstall:\n  version: 1\n  a: 1\n  a: 1\n", "autoinstall.a appears twice in one mapping"),
        ("autoinstall: 1\nautoinstall:\n  version: 1\n", "autoinstall appears twice in one mapping"),
        ("version: 1\nidentity: {hostname: a, hostname: hunter2}\n", "identity.hostname appears twice in one mapping"),
        ("version: 1\n\nx: !vault hunter2\n", "line 3 has a YAML tag that the installer's reader does not know"),
        ("autoinstall:\n  version: 1\n  x:\thunter2\n", "line 3 has a tab outside quotes"),
        ("autoinstall:\n  version: 1\n  autoinstall:\n    version: 1\n", "autoinstall.autoinstall is a second member"),
        ("version: 1\n---\nversion: 1\n", "has several documents"),
        ("autoinstall: {version: 1}\n", "is not written in a way that dayone can add the network to"),
        ("{version: 1}\n", "is not written in a way that dayone can add the network to"),
        ("autoinstall: hunter2\n", "is not a mapping"),
        ("autoinstall:\n  version: 1\nusers: [hunter2]\n", "has more than the member autoinstall: users."),
        ("version: 'hunter2\n", "is not YAML"),
    ] {
        let (files, findings) = completed(STATIC, text);
        assert!(files.is_none() && findings.len() == 1 && findings[0].contains(finding), "{text}: {findings:?}");
        assert!(!findings[0].contains("hunter2"), "{findings:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is in a file, its answers stay as they are.
    #[test]
    fn any_file_is_kept_or_refused(
        wrapped in any::<bool>(),
        lines in prop::collection::vec("[ ]{0,3}(a|b|#|- |\\||>|late-commands)?[:'\"{}\\[\\]|#a-c \\-]{0,6}", 0..6),
    ) {
        let (start, indent) = if wrapped { ("autoinstall:\n  version: 1\n", "  ") } else { ("version: 1\n", "") };
        let text: String = lines.iter().flat_map(|line| [indent, line, "\n"]).fold(start.to_owned(), |text, part| text + part);
        let (files, findings) = completed(BOND, &text);
        match files {
            Some(files) => {
                let mut written = yaml_mapping(file(&files, AUTOINSTALL_FILE)).unwrap();
                prop_assert!(written.remove(NETWORK).is_some());
                let given = yaml_mapping(&text).unwrap();
                let given = given.get(WRAPPER).map_or(given.clone(), |inner| inner.as_mapping().unwrap().clone());
                prop_assert_eq!(written, given);
            }
            None => prop_assert!(!findings.is_empty()),
        }
    }
}
