//! The files of a fleet, however they are written: kinds of line ends, spellings of paths, and the types of values.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use hosts::input::{Input, Text, read_all};
use hosts::network;
use serde_yaml::{Mapping, Value};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

fn input(files: &[(&str, &str)]) -> Input {
    read_all(files.iter().map(|(name, text)| Text { name: Some(name), text: text.as_bytes() }))
}

fn findings(input: &Input) -> Vec<String> {
    input.report.findings().iter().map(|finding| format!("{} {finding}", finding.code)).collect()
}

/// A fleet whose hosts are in `hosts`, and have their role and one value.
fn fleet(hosts: &str) -> String {
    format!(
        "{{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {{name: f}}, spec: {{hosts: {{{hosts}}}, template: \
         {{network: {{interfaces: [{{name: eth0, description: 'is ${{v}}'}}]}}}}}}}}"
    )
}

/// Names of hosts, their values and the places of their rows.
fn rows(input: &Input) -> Vec<String> {
    let hosts = input.hosts.iter().map(|host| {
        let value = &host.network.as_nmstate().unwrap().value["interfaces"][0]["description"];
        format!("{} {}", host.paths.host, value.as_str().unwrap_or_default())
    });
    hosts.collect()
}

const TABLE: &str = "# ours; a, \"b\nname,v\n# c,\"d\na,1\n\n#\n\"b\",\"2 #2\"\n# last";

#[test]
fn a_table_means_the_same_with_every_kind_of_line_end() {
    let of = |text: &str| input(&[("f.yaml", &fleet("csvFile: t.csv")), ("t.csv", text)]);
    let expected = [
        "HostFleet/f (a, t.csv line 4): spec.template is 1".to_owned(),
        "HostFleet/f (b, t.csv line 7): spec.template is 2 #2".to_owned(),
    ];
    let mixed = TABLE.replacen('\n', "\r", 3).replacen('\n', "\r\n", 2);
    for text in [TABLE.to_owned(), TABLE.replace('\n', "\r\n"), TABLE.replace('\n', "\r"), mixed] {
        let found = of(&text);
        assert_eq!(rows(&found), expected, "{text:?}: {:?}", findings(&found));
        assert!(found.report.is_empty(), "{:?}", findings(&found));
        let found = findings(&of(&text.replace("a,1", "a,1,2")));
        assert!(found.len() == 1 && found[0].ends_with("(line 4)"), "{text:?}: {found:?}");
    }
}

#[test]
fn a_mistake_behind_a_quoted_line_end_has_its_line() {
    for end in ["\n", "\r", "\r\n"] {
        let text = ["name,v", "a,\"1", "# no comment", "2\"", "b,1,2"].join(end);
        let of = |text: &str| findings(&input(&[("f.yaml", &fleet("csvFile: t.csv")), ("t.csv", text)]));
        let found = of(&text);
        assert!(found.len() == 1 && found[0].ends_with("(line 5)"), "{end:?}: {found:?}");
        let found = of(&text.replace("b,1,2", "b,1"));
        let is_right =
            found.len() == 1 && found[0].contains("(a, t.csv line 2)") && found[0].contains("control character");
        assert!(is_right, "{end:?}: {found:?}");
    }
}

#[test]
fn an_inventory_means_the_same_with_every_kind_of_line_end() {
    let text = "# ours\n[web]\nh1 v=1 # one\nh2 v=2\n[web:vars]\nw=3\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n"), text.replace('\n', "\r")] {
        for name in ["i.ini", "hosts"] {
            let found = input(&[("f.yaml", &fleet(&format!("inventoryFile: {name}"))), (name, &text)]);
            assert_eq!(rows(&found).len(), 2, "{text:?}: {:?}", findings(&found));
        }
        let wrong = format!("{text}x y");
        let found = findings(&input(&[("f.yaml", &fleet("inventoryFile: i.ini")), ("i.ini", &wrong)]));
        assert!(found[0].ends_with("(line 7)"), "{found:?}");
    }
}

/// Ansible removes the quotes inside those of the word, too.
#[test]
fn quotes_around_the_value_of_a_host_do_not_belong_to_it() {
    let of = |value: &str| {
        input(&[("f.yaml", &fleet("inventoryFile: i.ini")), ("i.ini", &format!("[web]\nh1 v={value}\n"))])
    };
    for (written, expected) in [
        (r#"'"007"'"#, "007"),
        (r#""'192.0.2.10'""#, "192.0.2.10"),
        (r#""'x' # y""#, "x"),
        (r#""'None'""#, "None"),
        (r#""'x' y""#, "'x' y"),
        (r#""a'b'""#, "a'b'"),
        (r#"'"'"#, "\""),
    ] {
        let found = of(written);
        assert_eq!(rows(&found), [format!("HostFleet/f (h1): spec.template is {expected}")], "{:?}", findings(&found));
    }
    for written in [r#""'a' 'b'""#, r#"'"a\t"'"#, r#""'a', 'b'""#, r#""'{{ x }}'""#] {
        let found = of(written);
        assert!(rows(&found).is_empty() && findings(&found).len() == 1, "{written}: {:?}", findings(&found));
    }
}

#[test]
fn a_text_in_a_yaml_inventory_names_the_only_host_or_child() {
    let of = |inventory: &str| input(&[("f.yaml", &fleet("inventoryFile: i.yml")), ("i.yml", inventory)]);
    let found = of("all: {children: web}\nweb: {hosts: \"w[1:2]\", vars: {v: 7}}\n");
    let expected = ["HostFleet/f (w1): spec.template is 7", "HostFleet/f (w2): spec.template is 7"];
    assert_eq!(rows(&found), expected, "{:?}", findings(&found));
    let empty = findings(&of("all: {hosts: ''}\n"));
    assert!(empty[0].ends_with("all.hosts is empty; a name belongs here"), "{empty:?}");
}

#[test]
fn an_unsafe_value_is_a_text_in_variables_and_nowhere_else() {
    for (written, expected) in
        [("\"192.0.2.10\"", "192.0.2.10"), ("'{{ x }}'", "{{ x }}"), ("|-\n  a b", "a b"), ("0x10", "16")]
    {
        let variables = format!("v: !unsafe {written}\n");
        let inventory = format!("all:\n  hosts: h1\n  vars:\n    {}", variables.replace('\n', "\n    "));
        let found = input(&[("f.yaml", &fleet("inventoryFile: i.yml")), ("i.yml", &inventory)]);
        let expected = [format!("HostFleet/f (h1): spec.template is {expected}")];
        assert_eq!(rows(&found), expected, "{written}: {:?}", findings(&found));
        let files =
            [("f.yaml", fleet("inventoryFile: i.ini")), ("i.ini", "h1\n".into()), ("group_vars/all.yml", variables)];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let found = input(&files);
        assert_eq!(rows(&found), expected, "{written}: {:?}", findings(&found));
    }
    let elsewhere = findings(&input(&[("n.yaml", "interfaces: [{name: !unsafe eth0}]\n")]));
    assert!(elsewhere[0].contains("the YAML tag \"!unsafe\", which dayone does not know"), "{elsewhere:?}");
}

/// An inventory has the same hosts if its path is written as `.` or `./inventory`.
#[test]
fn variables_are_read_however_the_path_is_written() {
    let of = |inventory: &str, variables: &str| {
        input(&[("f.yaml", &fleet("inventoryFile: hosts")), (inventory, "[web]\nh1\n"), (variables, "v: 7\n")])
    };
    for (inventory, variables) in [
        ("hosts", "group_vars/web.yml"),
        ("./hosts", "./group_vars/web.yml"),
        ("./hosts", "group_vars/web.yml"),
        ("hosts", ".//group_vars//web.yml"),
        ("inv/hosts", "./inv/./group_vars/web.yml"),
        ("inv/x/../hosts", "inv/host_vars/h1.yml"),
        ("../inv/hosts", ".././inv/host_vars/h1/a.yml"),
        ("/srv//inv/hosts", "/srv/inv/group_vars/all.yml"),
    ] {
        let found = of(inventory, variables);
        assert!(found.report.is_empty(), "{inventory} {variables}: {:?}", findings(&found));
        assert!(rows(&found)[0].ends_with("is 7"), "{inventory} {variables}");
    }
    let found = input(&[
        ("f.yaml", &fleet("inventoryFile: hosts")),
        ("/srv/inv/hosts", "h1 v=1\n"),
        ("inv/host_vars/h1.yml", "v: 7\n"),
        ("inv/host_vars/h2.yml", "v: 7\n"),
    ]);
    let found = findings(&found);
    assert!(found.iter().any(|line| line.contains("h1.yml") && line.contains("as absolute paths or")), "{found:?}");
    assert!(
        found.iter().any(|line| line.contains("h2.yml") && line.contains("no inventory in the directory")),
        "{found:?}"
    );
}

/// Also below `feature`, where the members have any names.
#[test]
fn a_boolean_of_yaml_1_1_may_be_a_variable() {
    for (written, expected) in [("yes", true), ("off", false), ("true", true), ("0", false)] {
        let fleet = format!(
            "{{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {{name: f}}, spec: {{hosts: {{values: [{{name: a, \
             v: '{written}'}}]}}, template: {{network: {{interfaces: [{{name: eth0, ethtool: {{feature: {{rx-gro: '${{v}}'}}}}, ipv4: \
             {{dhcp-send-hostname: '${{v}}'}}, description: '${{v}}'}}]}}}}}}}}"
        );
        let found = input(&[("f.yaml", &fleet)]);
        let interface = &found.hosts[0].network.as_nmstate().unwrap().value["interfaces"][0];
        assert_eq!(interface["ethtool"]["feature"]["rx-gro"], Value::Bool(expected), "{written}");
        assert_eq!(interface["ipv4"]["dhcp-send-hostname"], Value::Bool(expected), "{written}");
        assert_eq!(interface["description"], Value::from(written));
    }
}

/// Puts a variable in place of each number and boolean, and their values into `row`.
fn with_variables(value: &mut Value, row: &mut Mapping) {
    match value {
        Value::Sequence(values) => values.iter_mut().for_each(|value| with_variables(value, row)),
        Value::Mapping(map) => map.values_mut().for_each(|value| with_variables(value, row)),
        Value::Bool(_) | Value::Number(_) => {
            let name = format!("v{}", row.len());
            let text = serde_yaml::to_string(value).unwrap().trim().to_owned();
            *value = format!("${{{name}}}").into();
            row.insert(name.into(), text.into());
        }
        _ => {}
    }
}

fn keyfiles(host: &HostSpec) -> Result<String, String> {
    let (network, report) = network::convert(host);
    let Some(network) = network else {
        return Err(report.findings().iter().fold(String::new(), |all, finding| format!("{all}{finding}\n")));
    };
    Ok(network.keyfiles.iter().fold(String::new(), |mut text, file| {
        writeln!(text, "{}\n{}", file.name, file.content).unwrap();
        text
    }))
}

#[test]
fn every_number_and_every_boolean_may_be_a_variable() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/nmstate");
    let mut all: Vec<String> = fs::read_dir(fixtures)
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("nmstate.yaml")).ok())
        .collect();
    all.push(
        "interfaces:\n- {name: eth0, type: ethernet}\n- name: macsec0\n  type: macsec\n  macsec: {encrypt: false, base-iface: eth0, \
         mka-cak: 50b71a8ef0bd5751ea76de6d6c98c03a, mka-ckn: f2b4297d39da7330910a74abc0449feb, port: 7, validation: disabled, \
         send-sci: true}\n"
            .to_owned(),
    );
    let (mut seen, mut wrong) = (0, Vec::new());
    for text in all {
        let Ok(value) = serde_yaml::from_str::<Value>(&text) else { continue };
        let document = NmstateDocument::new(value.clone(), DocumentPath::root());
        let Ok(expected) = keyfiles(&HostSpec::with_network(document)) else { continue };
        let (mut network, mut row) = (value, Mapping::new());
        row.insert("name".into(), "h1".into());
        with_variables(&mut network, &mut row);
        let spec = serde_yaml::to_string(&(row, network)).unwrap();
        let (row, network): (Value, Value) = serde_yaml::from_str(&spec).unwrap();
        let fleet = serde_json::json!({
            "apiVersion": "dayone.metal3.io/v1alpha1", "kind": "HostFleet", "metadata": {"name": "f"},
            "spec": {"hosts": {"values": [row]}, "template": {"network": network}},
        });
        let mut read = input(&[("f.json", &fleet.to_string())]);
        assert!(!read.report.has_errors(), "{:?}", findings(&read));
        let mut host = read.hosts.remove(0);
        host.name = None;
        match keyfiles(&host) {
            Ok(found) if found == expected => seen += 1,
            Ok(found) | Err(found) => wrong.push(format!("{text}\n{found}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 35, "{seen}");
}
