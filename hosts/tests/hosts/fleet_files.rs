//! The files of a fleet, however they are written: kinds of line ends, spellings of paths, and the types of values.

mod compressed;

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

/// A document of a few megabytes may have hundreds of thousands.
#[test]
fn of_many_errors_in_a_fleet_a_hundred_are_reported() {
    let many = |entry: &str| (0..1000).map(|number| format!("'{entry}{number}': 1, ")).collect::<String>();
    let unknown: String = (0..1000).map(|number| format!("${{w{number}}}")).collect();
    let (fleet, table) = (fleet("csvFile: t.csv"), ("t.csv", "name,v\na,1\n"));
    for (code, fleet) in [
        ("fleet-key-unknown", fleet.replace("hosts: {", &format!("hosts: {{{}", many("x")))),
        ("fleet-key-unknown", fleet.replace("template: {", &format!("template: {{{}", many("x")))),
        ("fleet-variable-in-key", fleet.replace("{name: eth0,", &format!("{{{}", many("${v}")))),
        ("fleet-variable-unknown", fleet.replace("${v}", &unknown)),
    ] {
        let findings = findings(&input(&[("f.yaml", &fleet), table]));
        let of_code: Vec<&String> = findings.iter().filter(|finding| finding.starts_with(code)).collect();
        assert_eq!(of_code.len(), 100, "{code}: {:?}", findings.len());
        assert!(of_code[99].ends_with("; there may be more such errors, which dayone does not list"), "{of_code:?}");
    }
}

/// A range, and a group with a range, are a few bytes.
#[test]
fn an_inventory_does_not_make_much_of_little() {
    let variables =
        |count: usize| -> Vec<String> { (0..count).map(|number| format!("v{number}={}", "x".repeat(1000))).collect() };
    let group = |number: usize| {
        format!("[g{number}]\nn[1:500]\n[g{number}:vars]\nv=1\n[g{number}:children]\ng{}\n", number + 1)
    };
    for inventory in [
        "n[1:9999] v=1\n".repeat(101),
        format!("n[1:9999] {}\n", variables(101).join(" ")),
        format!("n[1:9999] v=1\n[all:vars]\n{}\n", variables(101).join("\n")),
        format!("n[{0}1:{0}9] v=1\n", "0".repeat(2000)),
        (0..300).map(group).chain(["[g300]\nlast\n".to_owned()]).collect(),
    ] {
        let found = input(&[("f.yaml", &fleet("inventoryFile: i.ini")), ("i.ini", &inventory)]);
        let findings = findings(&found);
        assert!(found.hosts.is_empty() && findings[0].starts_with("fleet-inventory "), "{findings:?}");
    }
    let shared = format!("n[1:9999] v=1\n[all:vars]\n{}\n", variables(90).join("\n"));
    let found = input(&[("f.yaml", &fleet("inventoryFile: i.ini")), ("i.ini", &shared)]);
    assert_eq!((found.hosts.len(), findings(&found)), (9999, Vec::new()));
    let unknown = format!("[a:children]\n{}", "x\n".repeat(100));
    assert_eq!(findings(&input(&[("f.yaml", &fleet("inventoryFile: i.ini")), ("i.ini", &unknown)])).len(), 20);
    let wrong: String = (0..100).map(|number| format!("    n{number}[1:99999]: {{}}\n")).collect();
    let wrong = format!("all:\n  hosts:\n{wrong}");
    assert_eq!(findings(&input(&[("f.yaml", &fleet("inventoryFile: i.yml")), ("i.yml", &wrong)])).len(), 20);
}

/// In YAML 1.1, a number with a leading zero is octal.
#[test]
fn what_ansible_reads_as_octal_is_no_value() {
    let written = |v: &str| {
        let (yaml, of_host) = (format!("all: {{hosts: {{w0: {{v: {v}}}}}}}\n"), format!("v: {v}\n"));
        let inline = fleet(&format!("inventory: {{all: {{hosts: {{w0: {{v: {v}}}}}}}}}"));
        [
            input(&[("f.yaml", &fleet("inventoryFile: i.yml")), ("i.yml", &yaml)]),
            input(&[("f.yaml", &fleet("inventoryFile: hosts")), ("hosts", "w0\n"), ("host_vars/w0.yml", &of_host)]),
            input(&[("f.yaml", &inline)]),
        ]
    };
    for (text, shown) in [("0110", "0110"), ("+0110", "0110"), ("000110", "0110")] {
        for found in written(text) {
            let (rows, findings) = (rows(&found), findings(&found));
            let expected = format!("{shown}, which Ansible reads as 72, and other programs as 110");
            assert!(rows.is_empty() && findings.len() == 1 && findings[0].contains(&expected), "{text}: {findings:?}");
        }
    }
    for text in ["'0110'", "0118", "110", "!!str 0110"] {
        for found in written(text) {
            assert!(rows(&found).len() == 1 && found.report.is_empty(), "{text}: {:?}", findings(&found));
        }
    }
    // Only a value that the template uses matters.
    let unused =
        input(&[("f.yaml", &fleet("inventoryFile: i.yml")), ("i.yml", "all: {hosts: {w0: {v: 1, mode: 0644}}}\n")]);
    assert!(rows(&unused).len() == 1 && unused.report.is_empty(), "{:?}", findings(&unused));
}

#[test]
fn a_file_that_is_encrypted_as_a_whole_is_an_error() {
    for (key, name) in
        [("inventoryFile", "i.ini"), ("inventoryFile", "hosts"), ("inventoryFile", "i.yml"), ("csvFile", "t.csv")]
    {
        let of_fleet = fleet(&format!("{key}: {name}"));
        let found = input(&[("f.yaml", &of_fleet), (name, "$ANSIBLE_VAULT;1.1;AES256\n3464\n3132\n")]);
        let findings = findings(&found);
        let expected = format!("input-encrypted {name}: the input is encrypted with Ansible Vault");
        assert!(found.hosts.is_empty() && findings.len() == 1 && findings[0].starts_with(&expected), "{findings:?}");
    }
}

/// A member of another mapping, a comment or a text may have the same name, and come first.
#[test]
fn an_error_about_a_value_has_the_line_of_its_variable() {
    for (text, line) in [
        ("dns:\n  v: 192.0.2.53\nmtu: 1500\nv: \"{{ x }}\"\n", 4),
        ("# v: 1\n---\nnote: |\n  v: 2\n\"v\":\n  \"{{ x }}\"\n", 5),
        ("{a: {v: 1},\n v: \"{{ x }}\"}\n", 2),
    ] {
        let files =
            [("f.yaml", fleet("inventoryFile: hosts")), ("hosts", "w0\n".into()), ("host_vars/w0.yml", text.into())];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let found = findings(&input(&files));
        assert!(found[0].contains(&format!("in host_vars/w0.yml line {line} is a Jinja")), "{text}: {found:?}");
    }
}

#[test]
fn a_file_with_the_name_of_notes_belongs_to_a_host_of_that_name() {
    let of = |host: &str| {
        let files = [("hosts", format!("{host} v=1\n")), ("host_vars/w0.example.md", "v: 2\n".to_owned())];
        let files = files.iter().map(|(name, text)| (*name, text.as_str()));
        input(&files.chain([("f.yaml", fleet("inventoryFile: hosts").as_str())]).collect::<Vec<_>>())
    };
    for (host, value) in [("w0.example.md", 2), ("w0.example.com", 1)] {
        let found = of(host);
        assert_eq!(rows(&found), [format!("HostFleet/f ({host}): spec.template is {value}")], "{:?}", findings(&found));
        assert!(found.report.is_empty(), "{:?}", findings(&found));
    }
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
