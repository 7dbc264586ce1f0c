//! Inventories with `group_vars` and `host_vars` beside them, against `ansible-inventory --list`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use acceptance::peers::{peer, run};
use hosts::input::{Text, read_all};
use proptest::prelude::*;
use serde_json::Value;

/// The files of an inventory by their paths.
type Files = BTreeMap<String, String>;

/// The variables of each host, as text.
type Variables = BTreeMap<String, BTreeMap<String, String>>;

fn write(files: &Files, directory: &Path) {
    for (name, content) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// What Ansible reads. Its own directory is empty: Ansible also looks for variables there.
fn of_ansible(inventory: &Path) -> Variables {
    let empty = tempfile::tempdir().unwrap();
    let listed = run(peer("ansible-inventory").arg("-i").arg(inventory).arg("--list").current_dir(empty.path()));
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    let as_text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let hosts = listed["_meta"]["hostvars"].as_object().unwrap().iter();
    let mut found: Variables = hosts
        .map(|(host, variables)| {
            let variables = variables.as_object().unwrap().iter();
            // Nothing and an empty text are no values to dayone.
            let variables = variables.filter(|(_, value)| !value.is_null() && value.as_str() != Some(""));
            (host.clone(), variables.map(|(name, value)| (name.clone(), as_text(value))).collect())
        })
        .collect();
    // Hosts without variables are only in groups.
    let groups = listed.as_object().unwrap().values().filter_map(|group| group["hosts"].as_array()).flatten();
    for host in groups.filter_map(Value::as_str) {
        found.entry(host.to_owned()).or_default();
    }
    found
}

/// What dayone reads: a fleet for each variable, with its value as the role. A host without the variable is an error.
fn of_dayone(files: &Files, inventory: &str, variables: &[&str]) -> Variables {
    let mut found = Variables::new();
    for variable in ["inventory_hostname"].iter().chain(variables) {
        let fleet = format!(
            "{{apiVersion: dayone.metal3.io/v1alpha1, kind: HostFleet, metadata: {{name: f}}, spec: {{hosts: \
             {{inventoryFile: {inventory}}}, template: {{name: '${{inventory_hostname}}', role: 'x${{{variable}}}', network: {{interfaces: []}}}}}}}}"
        );
        let files = files.iter().map(|(name, content)| Text { name: Some(name), text: content.as_bytes() });
        let input = read_all([Text { name: Some("fleet.yaml"), text: fleet.as_bytes() }].into_iter().chain(files));
        for finding in input.report.findings() {
            let expected = ["fleet-value-missing", "fleet-variable-unknown", "fleet-file-unused", "fleet-not-read-on"];
            assert!(expected.contains(&finding.code), "{finding}");
        }
        for host in input.hosts {
            let variables = found.entry(host.name.unwrap()).or_default();
            if *variable != "inventory_hostname" {
                variables.insert((*variable).to_owned(), host.role.unwrap()[1..].to_owned());
            }
        }
    }
    found
}

fn compare(files: &Files, inventory: &str, variables: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    write(files, directory.path());
    let theirs = of_ansible(&directory.path().join(inventory));
    assert_eq!(of_dayone(files, inventory, variables), theirs, "{files:#?}");
}

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

#[test]
fn files_win_over_the_inventory_and_inner_groups_over_outer_ones() {
    let inventory = "alone\n[a]\nh1 host=inline\nh2.example.com\n[b:children]\na\n[all:vars]\nv=inline-all\nw=inline-all\nz=inline-all\n\
                     [a:vars]\nv=inline-a\nz=inline-a\nansible_group_priority=5\n[ungrouped:vars]\nw=inline-ungrouped\n";
    let all = files(&[
        ("inventory/hosts", inventory),
        (
            "inventory/group_vars/all.yml",
            "---\nv: files-all\nu: files-all\nnumber: 9000\nbool: true\nempty:\nquoted: '0123'\n",
        ),
        ("inventory/group_vars/b/2.yml", "u: b2\nt: b2\n"),
        ("inventory/group_vars/b/1.json", "{\"u\": \"b1\", \"s\": \"b1\"}"),
        ("inventory/group_vars/b/10", "t: b10\nr: b10\n"),
        ("inventory/group_vars/b/more/x.yaml", "q: deep\n"),
        ("inventory/group_vars/b/no.more/x.yaml", "q: too deep\n"),
        ("inventory/group_vars/b/.hidden.yml", "u: hidden\n"),
        ("inventory/group_vars/b/old.yml~", "u: old\n"),
        ("inventory/group_vars/b/notes.txt", "not: read\n"),
        ("inventory/group_vars/b.yml", "u: not read\n"),
        ("inventory/group_vars/ungrouped", "p: of ungrouped\n"),
        ("inventory/group_vars/a.yaml", "p: of a.yaml\n"),
        ("inventory/group_vars/a.yml", "p: of a.yml\n"),
        ("inventory/group_vars/unknown.yml", "p: unknown\n"),
        ("inventory/host_vars/h1.yml", "host: file\n"),
        ("inventory/host_vars/h2.example.com", "host: file of h2\n"),
        ("inventory/host_vars/alone.yml", ""),
        ("group_vars/all.yml", "v: elsewhere\n"),
    ]);
    let variables = [
        "v",
        "w",
        "z",
        "u",
        "t",
        "s",
        "r",
        "q",
        "p",
        "host",
        "number",
        "bool",
        "empty",
        "quoted",
        "ansible_group_priority",
    ];
    compare(&all, "inventory/hosts", &variables);
    let yaml = files(&[
        (
            "hosts.yml",
            "all:\n  hosts: {h1: {v: own}, h2: {}}\n  children:\n    a: {hosts: {h2: {}}, vars: {v: inline, w: inline}}\n",
        ),
        ("group_vars/all", "v: all\nw: all\nu: all\n"),
        ("group_vars/ungrouped.json", "{\"u\": \"ungrouped\"}"),
        ("group_vars/a/x", "u: a\n"),
    ]);
    compare(&yaml, "hosts.yml", &["v", "w", "u"]);
}

/// Groups `g0`, … of which each is in some of those before it, hosts in some of the groups, and variables of any of them anywhere.
fn any_inventory() -> impl Strategy<Value = Files> {
    let owners = |count: usize| prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..3), count);
    let variables = prop::collection::vec((0_usize..40, 0_usize..5, 0_usize..4, 0_usize..1000), 0..60);
    let priorities = prop::collection::vec((0_usize..8, -3_i8..12), 0..4);
    (owners(8), owners(6), variables, priorities).prop_map(|(groups, hosts, variables, priorities)| {
        let mut inventory = String::new();
        let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (group, parents) in groups.iter().enumerate().filter(|(group, _)| *group > 0) {
            parents.iter().for_each(|parent| children.entry(parent.index(group)).or_default().push(group));
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (host, groups) in hosts.iter().enumerate() {
            inventory += &format!("h{host}\n");
            groups.iter().for_each(|group| members.entry(group.index(8)).or_default().push(host));
        }
        for group in 0..8 {
            inventory += &format!("[g{group}]\n");
            members.get(&group).into_iter().flatten().for_each(|host| inventory += &format!("h{host}\n"));
            inventory += &format!("[g{group}:children]\n");
            children.get(&group).into_iter().flatten().for_each(|child| inventory += &format!("g{child}\n"));
        }
        for (group, priority) in priorities {
            inventory += &format!("[g{group}:vars]\nansible_group_priority={priority}\n");
        }
        let mut files = Files::new();
        for (owner, variable, place, value) in variables {
            let (kind, name) = match owner {
                0..3 => ("group", "all".to_owned()),
                3..6 => ("group", "ungrouped".to_owned()),
                6..12 => ("host", format!("h{}", owner - 6)),
                _ => ("group", format!("g{}", owner % 8)),
            };
            match place {
                0 if kind == "group" => inventory += &format!("[{name}:vars]\nv{variable}=i{value}\n"),
                0 | 1 => {
                    *files.entry(format!("{kind}_vars/{name}.yml")).or_default() = format!("v{variable}: f{value}\n")
                }
                2 => {
                    *files.entry(format!("{kind}_vars/{name}.json")).or_default() =
                        format!("{{\"v{variable}\": \"j{value}\"}}")
                }
                _ => {
                    *files.entry(format!("{kind}_vars/{name}/{}.yml", value % 3)).or_default() =
                        format!("v{variable}: d{value}\n")
                }
            }
        }
        files.insert("hosts.ini".to_owned(), inventory);
        files
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_groups_have_the_variables_of_ansible(files in any_inventory()) {
        compare(&files, "hosts.ini", &["v0", "v1", "v2", "v3", "v4", "ansible_group_priority"]);
    }
}
