mod derived;
mod without_network;

use std::path::Path;

use super::*;
use crate::input::{self, Text};
use vocabulary::host::HostSpec;
use vocabulary::report::Report;

fn fixture(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)).unwrap()
}

fn scenario() -> String {
    fixture("scenarios/br-ex-second-step.yaml")
}

fn documents(files: &[(&str, &str)]) -> (Vec<SecondStepDocument>, Report) {
    read(files.iter().map(|(name, text)| SecondStepText {
        file_name: Some(name),
        text: Text { name: Some(name), text: text.as_bytes() },
    }))
}

fn first_step() -> Vec<HostSpec> {
    let input = input::read(fixture("scenarios/static-ipv4-baremetalhost.yaml").as_bytes());
    assert!(input.report.is_empty(), "{:?}", input.report.findings());
    input.hosts
}

/// The scenario's host by another name.
fn first_step_called(name: &str) -> HostSpec {
    HostSpec { name: Some(name.to_owned()), hostname: name.parse().ok(), ..first_step().remove(0) }
}

/// Checks against a first step in which all hosts have a network.
fn check(documents: &[SecondStepDocument], hosts: &[HostSpec]) -> Report {
    super::check(documents, &FirstStep { hosts: hosts.to_vec(), ..FirstStep::default() })
}

/// Makes objects after a first step in which all hosts have a network.
fn machine_configs(
    documents: &[SecondStepDocument],
    hosts: &[HostSpec],
    role: Option<&Role>,
) -> (Vec<MachineConfig>, Report) {
    super::machine_configs(documents, &FirstStep { hosts: hosts.to_vec(), ..FirstStep::default() }, role)
}

/// Each finding as a line: severity, code, sentence.
fn lines(report: &Report) -> Vec<String> {
    report.findings().iter().map(|finding| format!("{} {}: {finding}", finding.severity, finding.code)).collect()
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.findings().iter().map(|finding| finding.code).collect()
}

/// What is said of the scenario's document, changed.
fn spoilt(from: &str, to: &str) -> Vec<String> {
    spoilt_after(&first_step(), &[(from, to)])
}

fn spoilt_after(first_step: &[HostSpec], changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = scenario();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let (documents, report) = documents(&[("ostest-master-0.yml", &text)]);
    assert!(report.is_empty(), "{:?}", lines(&report));
    lines(&check(&documents, first_step))
}

#[test]
fn the_scenario_is_right_and_keeps_its_bytes() {
    let text = scenario();
    let (documents, report) = documents(&[("ostest-master-0.yaml", &text)]);
    assert!(report.is_empty(), "{:?}", lines(&report));
    assert_eq!(lines(&check(&documents, &first_step())), [""; 0]);
    assert_eq!(documents[0].content, text.as_bytes());
    let role: Role = "master".parse().unwrap();
    let (configs, report) = machine_configs(&documents, &first_step(), Some(&role));
    assert!(report.is_empty());
    assert_eq!((configs.len(), configs[0].name().as_str()), (1, "10-br-ex-master"));
    assert_eq!(configs[0].files, ["ostest-master-0.yml"]);
    assert_eq!(machine_configs(&documents, &[], None).1.findings()[0].code, "second-step-role");
}

#[test]
fn what_keeps_the_bridge_from_working_is_an_error_at_its_place() {
    let cases = [
        (
            "- name: br-ex\n  type: ovs-bridge",
            "- name: br-exx\n  type: ovs-bridge",
            "br-ex-missing: ostest-master-0.yml: interfaces",
        ),
        (
            "- name: br-ex\n  type: ovs-interface",
            "- name: br-exx\n  type: ovs-interface",
            "br-ex-missing: ostest-master-0.yml: interfaces",
        ),
        (
            "    - name: enp2s0\n    - name: br-ex\n",
            "    - name: br-ex\n",
            "br-ex-without-uplink: ostest-master-0.yml: interfaces[1].bridge.port",
        ),
        (
            "    - name: enp2s0\n    - name: br-ex\n",
            "    - name: enp2s0\n",
            "br-ex-not-a-port: ostest-master-0.yml: interfaces[1].bridge.port",
        ),
        (
            "    - name: enp2s0\n",
            "    - name: enp3s0\n",
            "second-step-other-nic: ostest-master-0.yml: interfaces[1].bridge.port[0]",
        ),
        (
            "  ipv4:\n    enabled: false\n  ipv6:\n    enabled: false\n- name",
            "  ipv4: {enabled: true, dhcp: true}\n- name",
            "uplink-has-address: ostest-master-0.yml: interfaces[0].ipv4",
        ),
        ("192.168.111.110", "192.168.111.120", "second-step-address: ostest-master-0.yml: interfaces[2].ipv4"),
        (
            "prefix-length: 24",
            "prefix-length: 25",
            "second-step-address: ostest-master-0.yml: interfaces[2].ipv4.address[0]",
        ),
        ("destination: 0.0.0.0/0", "destination: 10.0.0.0/8", "second-step-default-route: ostest-master-0.yml: routes"),
        ("interfaces:\n", "capture: {}\ninterfaces:\n", "nmpolicy: ostest-master-0.yml: capture"),
        (
            "interfaces:\n",
            "interfaces:\n- {name: br-int, type: dummy}\n",
            "interface-name-reserved: ostest-master-0.yml: interfaces[0].name",
        ),
        (
            "  copy-mac-from: enp2s0\n  ipv4:\n    enabled: true\n",
            "  copy-mac-from: enp2s0\n  ipv4:\n    enabled: false\n",
            "br-ex-without-address: ostest-master-0.yml: interfaces[2]",
        ),
        (
            "state: up\n  ipv4",
            "state: up\n  wrong: 1\n  ipv4",
            "nmstate-schema: ostest-master-0.yml: interfaces[0].wrong",
        ),
        ("next-hop-interface: br-ex", "next-hop-interface: enp2s0", "nmstate-refused: ostest-master-0.yml: routes"),
    ];
    for (from, to, expected) in cases {
        let found = spoilt(from, to);
        assert!(found[0].starts_with(&format!("error {expected}")), "{to}: {found:#?}");
    }
}

#[test]
fn what_a_good_operator_may_have_wanted_is_a_warning() {
    let cases = [
        ("- 192.168.111.1\n", "- 192.168.111.2\n", "second-step-name-servers"),
        ("next-hop-address: 192.168.111.1\n", "next-hop-address: 192.168.111.254\n", "second-step-default-route"),
        ("  copy-mac-from: enp2s0\n", "", "br-ex-mac"),
        (
            "    - name: enp2s0\n    - name: br-ex\n",
            "    - name: enp2s0\n    - name: enp3s0\n    - name: br-ex\n",
            "br-ex-several-uplinks",
        ),
    ];
    for (from, to, expected) in cases {
        let found = spoilt(from, to);
        assert!(found.len() == 1 && found[0].starts_with(&format!("warning {expected}: ")), "{to}: {found:#?}");
    }
}

/// The scenario's first step, changed.
fn first_step_with(change: impl Fn(&mut serde_yaml::Value)) -> Vec<HostSpec> {
    let mut hosts = first_step();
    change(&mut hosts[0].network.as_nmstate_mut().unwrap().value);
    hosts
}

#[test]
fn a_first_step_that_is_in_the_way_is_found() {
    let named = first_step_with(|value| value["interfaces"][0]["profile-name"] = "ovs-if-br-ex".into());
    let found = spoilt_after(&named, &[]);
    assert!(found.len() == 1 && found[0].starts_with("error second-step-name-taken: "), "{found:#?}");

    let by_mac = first_step_with(|value| {
        value["interfaces"][0]["identifier"] = "mac-address".into();
        value["interfaces"][0]["mac-address"] = "52:54:00:00:00:01".into();
    });
    let found = spoilt_after(&by_mac, &[]);
    assert!(found.len() == 1 && found[0].starts_with("warning second-step-nic-by-mac: "), "{found:#?}");
    let renamed = spoilt_after(&by_mac, &[("enp2s0", "eno1")]);
    assert!(renamed.len() == 1 && renamed[0].starts_with("warning second-step-nic-by-mac: "), "{renamed:#?}");

    let jumbo = first_step_with(|value| value["interfaces"][0]["mtu"] = 9000.into());
    assert!(spoilt_after(&jumbo, &[])[0].starts_with("warning second-step-mtu: "));
    let routed = first_step_with(|value| {
        let route = "{destination: 10.0.0.0/8, next-hop-address: 192.168.111.9, next-hop-interface: enp2s0}";
        value["routes"]["config"].as_sequence_mut().unwrap().push(serde_yaml::from_str(route).unwrap());
    });
    assert!(spoilt_after(&routed, &[])[0].starts_with("warning second-step-route-lost: "));
}

#[test]
fn what_the_network_offers_in_the_first_step_is_missed() {
    let by_dhcp = |others: &str| {
        first_step_with(|value| {
            value["interfaces"][0]["ipv4"] = serde_yaml::from_str("{enabled: true, dhcp: true}").unwrap();
            let others: Vec<serde_yaml::Value> = serde_yaml::from_str(others).unwrap();
            value["interfaces"].as_sequence_mut().unwrap().extend(others);
            let network = value.as_mapping_mut().unwrap();
            network.remove("routes");
            network.remove("dns-resolver");
        })
    };
    let routes = "routes:\n  config:\n  - destination: 0.0.0.0/0\n    next-hop-address: 192.168.111.1\n    \
                  next-hop-interface: br-ex\n";
    let servers = "dns-resolver:\n  config:\n    server:\n    - 192.168.111.1\n";
    let address = "    enabled: true\n    address:\n    - ip: \"192.168.111.110\"\n      prefix-length: 24\n";
    let dhcp = "    enabled: true\n    dhcp: true\n";
    let no_route = "warning second-step-default-route: ";
    let no_servers = "warning second-step-name-servers: ostest-master-0.yml: dns-resolver has other name servers (none) \
                      than the first step (those that the network offers)";
    let other_servers = "warning second-step-name-servers: ostest-master-0.yml: dns-resolver has other name servers \
                         (192.168.111.1) than the first step (those that the network offers)";
    let changes = [(routes, ""), (servers, ""), (address, dhcp)];
    for (made, expected) in
        [(0, vec![other_servers]), (1, vec![no_route, other_servers]), (2, vec![no_route, no_servers]), (3, vec![])]
    {
        let changes = &changes[..made];
        let found = spoilt_after(&by_dhcp("[]"), changes);
        let is_expected = found.iter().zip(&expected).all(|(line, beginning)| line.starts_with(*beginning));
        assert!(found.len() == expected.len() && is_expected, "{changes:?}: {found:#?}");
    }
    // Another NIC still gets name servers.
    let other = "[{name: enp3s0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true, auto-gateway: false}}]";
    let found = spoilt_after(&by_dhcp(other), &[(routes, ""), (servers, "")]);
    assert!(found.len() == 1 && found[0].starts_with(no_route), "{found:#?}");
}

#[test]
fn hosts_are_told_by_the_names_of_files_or_by_what_documents_say() {
    let text = scenario();
    for (files, expected) in [
        (vec!["a.example.com.yml", "a.yaml"], vec!["second-step-same-file"]),
        (vec!["cluster.yml", "b.yml"], vec![]),
        (vec!["a_b.yml"], vec!["second-step-host-unknown"]),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|name| (*name, text.as_str())).collect();
        assert_eq!(codes(&documents(&files).1), expected, "{files:?}");
    }
    let first = read_first_step([SecondStepText {
        file_name: Some("a.example.com.yaml"),
        text: Text { name: None, text: text.as_bytes() },
    }]);
    assert_eq!(first.0.hosts[0].name.as_deref(), Some("a.example.com"));
    let unnamed = SecondStepText { file_name: None, text: Text { name: None, text: text.as_bytes() } };
    assert_eq!(codes(&read([unnamed]).1), ["second-step-host-unknown"]);

    // In a Secret of a BareMetalHost.
    let indented = format!("    {}\n", text.trim_end().replace('\n', "\n    "));
    let host = fixture("scenarios/static-ipv4-baremetalhost.yaml");
    let (before, rest) = host.split_once("  nmstate: |\n").unwrap();
    let (_, after) = rest.split_once("---\n").unwrap();
    let host = format!("{before}  nmstate: |\n{indented}---\n{after}");
    let (documents, report) = documents(&[("hosts.yaml", &host)]);
    assert!(report.is_empty(), "{:?}", lines(&report));
    assert_eq!(documents[0].target.file_name(), "ostest-master-0.yml");
    assert_eq!(serde_yaml::from_slice::<serde_yaml::Value>(&documents[0].content).unwrap(), documents[0].network.value);
    assert_eq!(lines(&check(&documents, &first_step())), [""; 0]);
}

#[test]
fn hosts_without_a_document_and_documents_without_a_host_are_mentioned() {
    let text = scenario();
    let found = check(&documents(&[("other.yml", &text)]).0, &first_step());
    assert_eq!(codes(&found), ["second-step-host-not-in-first-step", "second-step-missing"]);
    let all = documents(&[("cluster.yml", &text)]).0;
    assert_eq!(codes(&check(&all, &[])), ["second-step-shared-address"]);
    assert_eq!(codes(&check(&all, &first_step())), [""; 0]);
    let many: Vec<HostSpec> = (0..12).map(|number| first_step_called(&format!("n{number}"))).collect();
    let found = check(&documents(&[("other.yml", &text)]).0, &many);
    let said = lines(&found)
        .into_iter()
        .filter(|line| line.contains("second-step-missing") || line.contains("the same applies to"));
    let said: Vec<String> = said.collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].ends_with("; the same applies to 11 more (n1, n2, n3, n4, n5, n6, n7, n8, …)"), "{said:?}");
    let mut two = first_step();
    two.push(first_step_called("b"));
    assert!(codes(&check(&all, &two)).contains(&"second-step-shared-address"));
    let twins = ["a.x", "a.y"].map(first_step_called);
    assert!(codes(&check(&all, &twins)).contains(&"second-step-same-file"));
}

#[test]
fn roles_come_from_documents_first_and_each_has_its_object() {
    let text = scenario();
    let documents = documents(&[("a.yml", &text), ("b.yml", &text), ("cluster.yml", &text)]).0;
    let host = |name: &str, role: Option<&str>| HostSpec { role: role.map(str::to_owned), ..first_step_called(name) };
    let first = [host("a", Some("master")), host("b", None), host("c", Some("arbiter"))];
    let worker: Role = "worker".parse().unwrap();
    let (configs, report) = machine_configs(&documents, &first, Some(&worker));
    assert!(report.is_empty(), "{:?}", lines(&report));
    let files: Vec<_> = configs.iter().map(|config| (config.role.as_str(), config.files.join(" "))).collect();
    let expected = [("arbiter", "cluster.yml"), ("master", "a.yml cluster.yml"), ("worker", "b.yml cluster.yml")];
    assert_eq!(files, expected.map(|(role, files)| (role, files.to_owned())));
    let odd = [host("a", Some("Master"))];
    assert_eq!(codes(&machine_configs(&documents[..1], &odd, None).1), ["second-step-role"]);
    for bad in ["", "Worker", "-a", "a-", "a.b", &"a".repeat(51)] {
        assert!(bad.parse::<Role>().is_err(), "{bad}");
    }
}

#[test]
fn a_derived_second_step_passes_the_same_checks() {
    let cases =
        ["static-ipv4-baremetalhost", "bond-vlans", "ipv6-dual-stack", "bond-vlan", "vlan-qos", "routes-and-rules"];
    let mut derived_from = 0;
    for case in cases {
        let mut hosts = input::read(fixture(&format!("nmstate/{case}/nmstate.yaml")).as_bytes()).hosts;
        hosts[0].name = Some("worker-0".to_owned());
        let (derived, report) = derive(&mut hosts, &[], false);
        let found = check(&derived, &hosts);
        if report.has_errors() {
            assert!(derived.is_empty());
            continue;
        }
        derived_from += 1;
        let text = String::from_utf8_lossy(&derived[0].content);
        let warnings = codes(&found);
        assert!(warnings.is_empty() || warnings == ["second-step-missing"], "{case}: {:#?}\n{text}", lines(&found));
    }
    assert!(derived_from >= 3, "{derived_from}");
}

#[test]
fn of_the_scenario_the_scenario_is_derived() {
    let mut hosts = first_step();
    let (derived, report) = derive(&mut hosts, &[], false);
    assert!(report.is_empty(), "{:?}", lines(&report));
    assert_eq!(lines(&check(&derived, &hosts)), [""; 0]);
    let expected: serde_yaml::Value = serde_yaml::from_str(&scenario()).unwrap();
    let value = &derived[0].network.value;
    for key in ["routes", "dns-resolver"] {
        assert_eq!(value[key], expected[key]);
    }
    assert_eq!(value["interfaces"][2]["ipv4"], expected["interfaces"][2]["ipv4"]);
    assert_eq!(value["interfaces"][1]["bridge"], expected["interfaces"][1]["bridge"]);
    let none = derive(&mut hosts, &derived, false);
    assert!(none.0.is_empty() && none.1.is_empty());
}

#[test]
fn what_cannot_be_derived_is_said() {
    let error = |hosts: &[HostSpec]| {
        let mut hosts = hosts.to_vec();
        let (derived, report) = derive(&mut hosts, &[], false);
        // Nothing else is said of a host for which nothing is derived.
        assert!(derived.is_empty() && check(&derived, &hosts).is_empty(), "{:?}", lines(&report));
        codes(&report)
    };
    let no_route = first_step_with(|value| {
        value.as_mapping_mut().unwrap().remove("routes");
    });
    assert_eq!(error(&no_route), ["derive-uplink"]);
    let by_mac = first_step_with(|value| {
        value["interfaces"][0]["identifier"] = "mac-address".into();
        value["interfaces"][0]["mac-address"] = "52:54:00:00:00:01".into();
    });
    assert_eq!(error(&by_mac), ["derive-nic-by-mac"]);
    let (derived, report) = derive(&mut by_mac.clone(), &[], true);
    assert!(report.is_empty());
    let nic = &derived[0].network.value["interfaces"][0];
    assert!(nic.get("identifier").is_none() && nic.get("mac-address").is_none(), "{nic:?}");
    let unnamed = [HostSpec { name: None, hostname: None, ..first_step().remove(0) }];
    assert_eq!(error(&unnamed), ["second-step-host-unknown"]);
    let broken = first_step_with(|value| value["interfaces"][0]["mtu"] = "large".into());
    assert_eq!(error(&broken), ["nmstate-schema"]);
}

#[test]
fn files_are_called_as_the_host_calls_itself() {
    let host = |hostname: Option<&str>| HostSpec {
        name: Some("bmh-7".to_owned()),
        hostname: hostname.map(|name| name.parse().unwrap()),
        ..first_step().remove(0)
    };
    let name = |host: &HostSpec| ShortName::of(host).unwrap().to_string();
    assert_eq!(name(&host(None)), "bmh-7");
    assert_eq!(name(&host(Some("worker-0.example.com"))), "worker-0");
    let mut set = host(Some("worker-0.example.com"));
    let network = set.network.as_nmstate_mut().unwrap();
    network.value["hostname"] = serde_yaml::from_str("{config: worker-1.example.com}").unwrap();
    assert_eq!(name(&set), "worker-1");
}
