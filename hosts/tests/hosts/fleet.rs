//! Fleets of `fixtures/inputs/fleet` and the hosts that they are. `UPDATE_GOLDEN=1` rewrites what is expected.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hosts::input::{Input, Text, read_all, read_bmcs};
use hosts::network;
use proptest::prelude::*;
use serde_yaml::Value;
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The files of a case, which is a file or a directory, by their paths inside it.
fn files(case: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![case.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(entries(&path).into_iter().rev());
        } else if !matches!(path.extension().and_then(|e| e.to_str()), Some("findings" | "hosts")) {
            let name = path.strip_prefix(case.parent().unwrap()).unwrap().to_str().unwrap().to_owned();
            let name = if case.is_dir() { name.split_once('/').unwrap().1.to_owned() } else { name };
            found.push((name, fs::read(&path).unwrap()));
        }
    }
    found
}

fn input(files: &[(String, Vec<u8>)]) -> Input {
    read_all(files.iter().map(|(name, text)| Text { name: Some(name), text }))
}

fn findings(input: &Input) -> String {
    input.report.findings().iter().fold(String::new(), |mut text, finding| {
        writeln!(text, "{} {}: {finding}", finding.severity, finding.code).unwrap();
        text
    })
}

fn hosts(input: &Input) -> String {
    let mut text = String::new();
    for host in &input.hosts {
        writeln!(text, "--- {}", host.network.path()).unwrap();
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                writeln!(text, "{name}: {value}").unwrap();
            }
        };
        line("name", host.name.clone());
        line("hostname", host.hostname.as_ref().map(ToString::to_string));
        line("boot MAC", host.boot_mac.map(|mac| mac.to_string()));
        line("architecture", host.architecture.map(|architecture| architecture.to_string()));
        line("boot mode", host.boot_mode.map(|mode| mode.to_string()));
        line("role", host.role.clone());
        line("BMC", host.bmc.as_ref().map(|bmc| bmc.address.clone()));
        for nic in &host.nics {
            line(&format!("NIC {}", nic.name), Some(format!("{}, from {}", nic.mac, nic.path)));
        }
        text += &serde_yaml::to_string(&host.network.as_nmstate().unwrap().value).unwrap();
    }
    text
}

fn compare(path: &Path, found: &str, wrong: &mut Vec<String>) {
    if std::env::var_os("UPDATE_GOLDEN").is_none() {
        if fs::read_to_string(path).unwrap_or_default() != found {
            wrong.push(format!("{}: found\n{found}", path.display()));
        }
    } else if found.is_empty() {
        drop(fs::remove_file(path));
    } else {
        fs::write(path, found).unwrap();
    }
}

/// The good cases, which are directories.
fn cases() -> Vec<PathBuf> {
    let mut cases = entries(&fixtures().join("inputs/fleet"));
    cases.retain(|case| case.join("fleet.yaml").exists() || case.join("fleet.xlsx").exists());
    cases
}

#[test]
fn good_fleets_give_their_hosts() {
    let mut wrong = Vec::new();
    for case in cases() {
        let input = input(&files(&case));
        assert!(!input.report.has_errors(), "{}: {}", case.display(), findings(&input));
        compare(&case.join("expected.hosts"), &hosts(&input), &mut wrong);
        compare(&case.join("expected.findings"), &findings(&input), &mut wrong);
        for host in &input.hosts {
            let (network, report) = network::convert(host);
            assert!(network.is_some(), "{}: {:?}", case.display(), report.findings());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases().len() > 5);
}

/// A mistake of the template is one finding, however many hosts there are, and those of rows stay apart.
#[test]
fn a_mistake_of_the_template_is_said_once_with_the_number_of_hosts() {
    let fleet = |mac: &str, mtu: &str| {
        let rows: String =
            (0..400).fold(String::new(), |rows, n| rows + &format!("    - {{name: worker-{n}, mtu: '{n}.5'}}\n"));
        format!(
            "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {{name: rack}}\nspec:\n  hosts:\n    values:\n\
             {rows}  template:\n    bootMACAddress: {mac}\n    network: {{interfaces: [{{name: eth0, type: ethernet, state: up, mtu: \
             {mtu}, ipv4: {{enabled: true, dhcp: true}}}}]}}\n"
        )
    };
    let checked = |text: &str| {
        let report = hosts::every_host::convert(hosts::input::read(text.as_bytes())).report;
        let errors = report.findings().iter().filter(|finding| finding.severity.to_string() == "error");
        errors.map(|finding| format!("{} {}", finding.code, finding.message)).collect::<Vec<_>>()
    };
    let of_input = checked(&fleet("52:54:00:12:34", "1500"));
    assert_eq!(of_input.len(), 1, "{of_input:#?}");
    assert!(of_input[0].contains("; the same for 399 more hosts of the fleet: worker-1, worker-2, "), "{of_input:#?}");
    let of_network = checked(&fleet("52:54:00:12:34:56", "big"));
    let same: Vec<_> = of_network.iter().filter(|line| line.contains("399 more hosts of the fleet")).collect();
    assert_eq!(same.len(), 1, "{of_network:#?}");
    assert!(same[0].starts_with("nmstate-schema is refused by nmstate"), "{same:#?}");
    let of_rows = checked(&fleet(
        "52:54:00:12:34:56",
        "1500, ipv6: {enabled: true, address: [{ip: '2001:db8::${mtu}', prefix-length: 64}]}",
    ));
    assert!(of_rows.iter().filter(|line| line.starts_with("nmstate-schema")).count() > 100, "{}", of_rows.len());
}

#[test]
fn bad_fleets_give_their_findings() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for case in entries(&fixtures().join("inputs/fleet/invalid")) {
        if case.extension().is_some_and(|extension| extension == "findings") {
            continue;
        }
        let input = input(&files(&case));
        assert!(input.report.has_errors(), "{}", case.display());
        compare(&case.with_extension("findings"), &findings(&input), &mut wrong);
        seen += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 35, "{seen}");
}

#[test]
fn a_host_of_a_fleet_has_the_keyfiles_of_its_nmstate() {
    let fleet = input(&files(&fixtures().join("inputs/fleet/same-as-nmstate")));
    let text = fs::read_to_string(fixtures().join("nmstate/bond-vlans/nmstate.yaml")).unwrap();
    let document = NmstateDocument::new(serde_yaml::from_str(&text).unwrap(), DocumentPath::root());
    let by_hand = network::convert(&HostSpec::with_network(document)).0.unwrap();
    let of_fleet = network::convert(&fleet.hosts[0]).0.unwrap();
    assert_eq!(of_fleet.keyfiles, by_hand.keyfiles);
}

/// The inventories of one cluster say the same hosts.
#[test]
fn an_inventory_is_the_same_in_all_forms() {
    let of = |case: &str| {
        let mut input = input(&files(&fixtures().join("inputs/fleet").join(case)));
        input.hosts.iter_mut().for_each(|host| host.network.as_nmstate_mut().unwrap().path = DocumentPath::root());
        input.hosts
    };
    assert_eq!(of("inventory-ini"), of("inventory-yaml"));
    assert_eq!(of("inventory-ini"), of("inventory-listed"));
    assert_eq!(of("inventory-ini").len(), 3);
}

#[test]
fn a_listing_is_an_inventory_whatever_its_groups_are_called() {
    let fleet = "{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {name: f}, spec: {hosts: \
                 {inventoryFile: i.json, group: links}, template: {network: {interfaces: []}}}}";
    let listing = r#"{"_meta": {"hostvars": {"a": {"v": 1}, "b": {}}}, "links": ["b", "c[1:2]"],
                      "interfaces": {"hosts": ["a"]}, "kind": {}, "platform": {"children": ["links", "baremetal"]}}"#;
    let files = [("fleet.yaml", fleet), ("i.json", listing)];
    let input = input(&files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())));
    // Names are as Ansible has expanded them: the second one is no host name.
    assert_eq!(input.hosts.iter().filter_map(|host| host.name.as_deref()).collect::<Vec<_>>(), ["b"]);
    assert!(findings(&input).contains("c[1:2]"), "{}", findings(&input));
}

/// Spreadsheets write line breaks inside values, separators of columns that only look used, and UTF-16.
#[test]
fn tables_are_read_as_spreadsheets_save_them() {
    let fleet = "{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {name: f}, spec: {hosts: {csvFile: t.csv}, \
                 template: {network: {interfaces: [{name: eth0, type: ethernet, state: up, mtu: '${mtu}'}]}}}}";
    let read = |table: &[u8]| {
        input(
            &[("fleet.yaml", fleet.as_bytes()), ("t.csv", table)].map(|(name, text)| (name.to_owned(), text.to_vec())),
        )
    };
    let table = "name,note,mtu,,\r\na,\"one\ntwo \"\"x\"\"\",1500,,\r\nb,\"\"\"big\"\" one\",9000,,\r\n";
    let units = table.replace(',', "\t");
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(units.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    for table in [table.as_bytes(), &utf16] {
        let found = read(table);
        assert!(!found.report.has_errors(), "{}", findings(&found));
        assert_eq!(found.hosts.iter().filter_map(|host| host.name.as_deref()).collect::<Vec<_>>(), ["a", "b"]);
    }
    let used = read(b"name,mtu\na,\"15\n00\"\n");
    assert!(
        findings(&used).contains("uses ${mtu}, whose value contains the control character U+000A"),
        "{}",
        findings(&used)
    );
    let broken = read(b"\xff\xfen\0a\0\n\0\x00\xd8\n\0b\0");
    assert_eq!(findings(&broken).lines().count(), 1, "{}", findings(&broken));
}

/// Other files with this suffix are documents.
#[test]
fn the_unicode_text_of_excel_is_a_table() {
    let fleet = "{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {name: f}, spec: {hosts: {csvFile: h.txt}, \
                 template: {role: '${v}', network: {interfaces: []}}}}";
    let table: Vec<u8> = "\u{feff}name\tv\r\na\t7\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let fleet = Text { name: Some("fleet.yaml"), text: fleet.as_bytes() };
    let found = read_all([fleet, Text { name: Some("h.txt"), text: &table }]);
    assert_eq!(found.hosts.first().and_then(|host| host.role.as_deref()), Some("7"), "{}", findings(&found));
    let document = read_all([Text { name: Some("h.txt"), text: b"interfaces: []\n" }]);
    assert_eq!(document.hosts.len(), 1, "{}", findings(&document));
}

/// People name the columns of their tables as they like.
#[test]
fn a_variable_has_the_name_of_any_column() {
    let read = |role: &str| {
        let fleet = format!(
            "{{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {{name: f}}, spec: {{hosts: {{csv: \"name;IP \
             Address;Größe;a:b\\na;192.0.2.1;XL;7\\n\"}}, template: {{role: {role:?}, network: {{interfaces: []}}}}}}}}"
        );
        read_all([Text { name: Some("fleet.yaml"), text: fleet.as_bytes() }])
    };
    let found = read("${IP Address}|${Größe}|${a:b}|$${IP Address}");
    assert_eq!(
        found.hosts.first().and_then(|host| host.role.as_deref()),
        Some("192.0.2.1|XL|7|${IP Address}"),
        "{}",
        findings(&found)
    );
    for (role, code) in [
        ("${ IP Address}", "fleet-variable-invalid"),
        ("${IP Address ${a:b}", "fleet-variable-invalid"),
        ("${}", "fleet-variable-invalid"),
        ("${IP\tAddress}", "fleet-variable-invalid"),
        ("${ip address}", "fleet-variable-unknown"),
    ] {
        let found = read(role);
        assert!(found.report.findings().iter().any(|finding| finding.code == code), "{role}: {}", findings(&found));
    }
}

#[test]
fn a_finding_about_a_host_names_the_template_and_the_row() {
    let case = fixtures().join("inputs/fleet/csv-file");
    let mut files = files(&case);
    for (name, text) in &mut files {
        if name == "hosts.csv" {
            *text = String::from_utf8(text.clone()).unwrap().replace("192.0.2.11,24", "192.0.2.11,x").into_bytes();
        }
    }
    let input = input(&files);
    let (network, report) = network::convert(&input.hosts[1]);
    assert!(network.is_none());
    let message = report.findings()[0].to_string();
    let at = "HostFleet/rack1 (worker-1, hosts.csv line 7): spec.template.network.interfaces[1].ipv4.address[0].prefix-length";
    assert!(message.starts_with(at), "{message}");
}

#[test]
fn the_bmcs_of_a_fleet_are_read_without_its_networks() {
    let files = files(&fixtures().join("inputs/fleet/csv-file"));
    let (bmcs, report) = read_bmcs(files.iter().map(|(name, text)| Text { name: Some(name), text }));
    assert!(!report.has_errors());
    let found: Vec<_> = bmcs.iter().map(|bmc| (bmc.name.as_str(), bmc.bmc.credentials.is_ok())).collect();
    assert_eq!(found, [("worker-0", true), ("worker-1", false)]);
}

#[test]
fn ten_thousand_rows_are_read_at_once_and_more_are_refused() {
    let fleet = fs::read_to_string(fixtures().join("inputs/fleet/csv-file/fleet.yaml")).unwrap();
    let fleet = fleet.split_once("---").unwrap().0.as_bytes().to_vec();
    let table = |rows: usize| {
        let mut csv = "name,bootMACAddress,mac2,bmc,vlan,address,prefix,gateway,asset,reorder\n".to_owned();
        for row in 0..rows {
            let (a, b) = (row / 250, row % 250 + 1);
            writeln!(csv, "w{row},52:54:00:00:{a:02x}:{b:02x},52:54:01:00:{a:02x}:{b:02x},10.0.{a}.{b},20,10.1.{a}.{b},16,10.1.255.254,{row},true").unwrap();
        }
        input(&[("fleet.yaml".to_owned(), fleet.clone()), ("hosts.csv".to_owned(), csv.into_bytes())])
    };
    let start = Instant::now();
    let good = table(10_000);
    println!("{:?}", start.elapsed());
    assert_eq!((good.hosts.len(), findings(&good).as_str()), (10_000, ""));
    assert_eq!(good.hosts[9_999].name.as_deref(), Some("w9999"));
    let refused = table(10_001);
    assert!(refused.hosts.is_empty() && findings(&refused).contains("fleet-too-large"), "{}", findings(&refused));
}

fn fleet(hosts: &str, value: &str) -> Vec<u8> {
    // JSON leaves these two as they are, and in YAML 1.1 they end a line.
    let quoted = serde_json::to_string(value).unwrap().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    format!(
        "{{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {{name: f}}, spec: {{hosts: {{{hosts}: {quoted}}}, \
         template: {{network: {{interfaces: [{{name: a, description: 'x${{v}}y'}}]}}}}}}}}"
    )
    .into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_table_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), name in "[a-z]{1,8}\\.(csv|tsv|xlsx|ini|yaml)") {
        let key = match name.rsplit('.').next() {
            Some("csv" | "tsv") => "csvFile",
            Some("xlsx") => "xlsxFile",
            _ => "inventoryFile",
        };
        let text = fleet(key, &name);
        let input = input(&[("fleet.yaml".to_owned(), text), (name, bytes)]);
        prop_assert!(!input.hosts.is_empty() || input.report.has_errors());
    }

    #[test]
    fn text_like_an_inventory_is_read_or_refused(lines in prop::collection::vec(
        "(\\[[a-c](:vars|:children)?\\]|[a-c]{1,2}(\\[[0-9]{0,2}:[0-9]{0,3}\\])?( v=[a-z'\"{}\\\\#]{0,4})*|[a-c]|v *= *[a-z'\"#]{0,3})", 0..20,
    )) {
        let text = fleet("inventory", &lines.join("\n"));
        let input = input(&[("fleet.yaml".to_owned(), text)]);
        prop_assert!(!input.hosts.is_empty() || input.report.has_errors());
    }

    /// Whatever a value holds, the document has the same shape, and the value in its place.
    #[test]
    fn a_value_stays_in_its_place(value in "\\PC{1,40}") {
        let value = value.trim().to_owned();
        prop_assume!(!value.is_empty());
        let cell = format!("\"{}\"", value.replace('"', "\"\""));
        let input = input(&[("fleet.yaml".to_owned(), fleet("csv", &format!("name,v\nh,{cell}\n")))]);
        if let [host] = input.hosts.as_slice() {
            let expected: Value =
                serde_json::from_value(serde_json::json!({"interfaces": [{"name": "a", "description": format!("x{value}y")}]})).unwrap();
            prop_assert_eq!(&host.network.as_nmstate().unwrap().value, &expected);
        } else {
            prop_assert!(value.starts_with('"'), "{}", findings(&input));
        }
    }
}
