//! A small input must not become a large one, whatever multiplies it.

use super::{Input, Limits, Text, read_within};

/// Reads files, of which dayone may make so many values and bytes.
fn read(copied_values: usize, copied_bytes: usize, files: &[(&str, &str)]) -> Input {
    let limits = Limits { copied_values, copied_bytes, ..Limits::REQUEST };
    read_within(limits, files.iter().map(|(name, text)| Text { name: Some(name), text: text.as_bytes() }))
}

fn codes(input: &Input) -> Vec<&'static str> {
    input.report.findings().iter().map(|finding| finding.code).collect()
}

/// A fleet whose template has 6 values for each host, and 33 bytes.
fn fleet(name: &str, hosts: &str) -> String {
    format!(
        "{{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {{name: {name}}}, spec: {{hosts: {{{hosts}}}, template: \
         {{name: '{name}-${{name}}', network: {{interfaces: [{{name: eth0}}]}}}}}}}}"
    )
}

fn hosts(spec: &str) -> String {
    let host = |number| {
        format!(
            "---\n{{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {{name: h{number}}}, spec: {{{spec}}}}}\n"
        )
    };
    (0..3).map(host).collect()
}

#[test]
fn the_hosts_of_all_fleets_count_together() {
    let hosts = r#"csv: "name\nh0\nh1\nh2\n""#;
    let (a, b) = (fleet("a", hosts), fleet("b", hosts));
    for (values, count, expected) in [(36, 6, vec![]), (35, 5, vec!["fleet-too-large"])] {
        let found = read(values, 1000, &[("a.yaml", &a), ("b.yaml", &b)]);
        assert_eq!((found.hosts.len(), codes(&found)), (count, expected), "{values}");
    }
}

#[test]
fn the_variables_of_an_inventory_count_for_each_host() {
    let fleet = fleet("a", "inventory: {all: {hosts: {'h[1:3]': {}}, vars: {v: 1}}}");
    // Each host has a variable, and two names.
    for (values, expected) in [(27, vec![]), (26, vec!["fleet-too-large"]), (8, vec!["fleet-too-large"])] {
        assert_eq!(codes(&read(values, 1000, &[("a.yaml", &fleet)])), expected, "{values}");
    }
}

#[test]
fn a_table_counts_for_each_fleet_that_reads_it() {
    let (a, b) = (fleet("a", "csvFile: t.csv"), fleet("b", "csvFile: t.csv"));
    for (bytes, expected) in [(2 * (11 + 66), vec![]), (2 * 11 + 66 - 1, vec!["input-too-large"])] {
        let found = read(1000, bytes, &[("a.yaml", &a), ("b.yaml", &b), ("t.csv", "name\nh0\nh1\n")]);
        assert_eq!(codes(&found), expected, "{bytes}");
    }
}

#[test]
fn groups_in_groups_count_for_each_fleet() {
    let group = |number: usize| format!("[g{number}]\n[g{number}:vars]\nv=1\n[g{number}:children]\ng{}\n", number + 1);
    let inventory = (0..50).map(group).chain(["[g50]\nh0\n".to_owned()]).collect::<String>();
    let fleets = ["a", "b", "c", "d"].map(|name| fleet(name, "inventoryFile: i.ini")).join("\n---\n");
    let files = [("f.yaml", fleets.as_str()), ("i.ini", inventory.as_str())];
    // Each fleet has a host with a variable and two names, and a template of 6 values. Besides, there are the groups.
    for (values, expected) in [(4 * (3 + 6 + 50), false), (4 * (3 + 6 + 30), true)] {
        let found = read(values, 100_000, &files);
        assert_eq!(found.report.has_errors(), expected, "{values}: {:?}", codes(&found));
    }
}

#[test]
fn each_fleet_looks_at_all_files() {
    let fleets = ["a", "b", "c", "d"].map(|name| fleet(name, "inventoryFile: i.ini")).join("\n---\n");
    let variables: Vec<String> = (0..31).map(|number| format!("group_vars/g{number}")).collect();
    let mut files: Vec<(&str, &str)> = variables.iter().map(|name| (name.as_str(), "")).collect();
    files.extend([("f.yaml", fleets.as_str()), ("i.ini", "h0\n")]);
    // Each fleet has a host with two names and a template of 6 values, and looks at 32 files.
    for (values, expected) in [(4 * (2 + 6 + 2), false), (4 * (2 + 6 + 2) - 1, true)] {
        let found = read(values, 1000, &files);
        assert_eq!(found.report.has_errors(), expected, "{values}: {:?}", codes(&found));
    }
}

#[test]
fn what_a_list_gives_to_its_items_counts_for_each() {
    let list = |item: &str| format!("{{apiVersion: {}, kind: XList, items: [{}]}}", "v".repeat(100), item.repeat(10));
    for (item, bytes, expected) in
        [("{a: b},", 10 * (100 + 1), false), ("{a: b},", 10 * (100 + 1) - 1, true), ("1,", 0, false)]
    {
        let found = read(100, bytes, &[("a.yaml", &list(item))]);
        assert_eq!(codes(&found).contains(&"input-too-large"), expected, "{item} {bytes}: {:?}", codes(&found));
    }
}

#[test]
fn a_policy_counts_for_each_host() {
    let policy = "{apiVersion: nmstate.io/v1, kind: NodeNetworkConfigurationPolicy, metadata: {name: p}, spec: {desiredState: \
                  {interfaces: [{name: eth0}]}}}\n";
    let documents = format!("{policy}{}", hosts(""));
    let found = read(100, 1000, &[("a.yaml", &documents)]);
    assert_eq!((found.hosts.len(), found.report.has_errors()), (3, false), "{:?}", codes(&found));
    let found = read(30, 1000, &[("a.yaml", &documents)]);
    assert!(found.hosts.is_empty() && codes(&found).contains(&"input-too-large"), "{:?}", codes(&found));
}

#[test]
fn the_profiles_in_a_secret_count_for_each_host() {
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {eth0.nmconnection: \"[connection]\\nid=eth0\\n\"}}\n";
    let documents = format!("{secret}{}", hosts("preprovisioningNetworkDataName: s"));
    for (bytes, count, expected) in [(63, 3, vec![]), (62, 2, vec!["input-too-large"])] {
        let found = read(1000, bytes, &[("a.yaml", &documents)]);
        assert_eq!((found.hosts.len(), codes(&found)), (count, expected), "{bytes}");
    }
}
