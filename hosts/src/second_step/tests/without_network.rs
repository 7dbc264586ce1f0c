//! Hosts that use DHCP in the first step, so that their documents have no network.

use super::*;

const INSTALL_CONFIG: &str = r#"
apiVersion: v1
metadata: {name: c}
platform:
  baremetal:
    hosts:
    - name: m0
      role: master
      bootMACAddress: "52:54:00:00:00:01"
      networkConfig:
        interfaces:
        - {name: enp2s0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: false}}
    - {name: w0, role: worker, bootMACAddress: "52:54:00:00:00:02"}
"#;

const ONLY_DHCP: &str = r#"
apiVersion: v1beta1
kind: AgentConfig
metadata: {name: c}
rendezvousIP: 192.0.2.10
hosts:
- {hostname: m0.example.com, role: master, interfaces: [{name: enp2s0, macAddress: "52:54:00:00:00:01"}]}
- {hostname: w0.example.com, role: worker, interfaces: [{name: enp2s0, macAddress: "52:54:00:00:00:02"}]}
"#;

const BRIDGE_WITH_DHCP: &str = "
interfaces:
- {name: enp2s0, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- name: br-ex
  type: ovs-bridge
  state: up
  bridge: {port: [{name: enp2s0}, {name: br-ex}]}
- name: br-ex
  type: ovs-interface
  state: up
  copy-mac-from: enp2s0
  ipv4: {enabled: true, dhcp: true}
  ipv6: {enabled: false}
";

/// The hosts in a text.
fn first_step_of(text: &str) -> FirstStep {
    let name = Some("first.yaml");
    let text = SecondStepText { file_name: name, text: Text { name, text: text.as_bytes() } };
    let (first_step, report) = read_first_step([text]);
    assert!(!report.has_errors(), "{:?}", lines(&report));
    first_step
}

/// The objects for the documents: each role with its files.
fn roles(files: &[(&str, &str)], first_step: &FirstStep, role: Option<&str>) -> Vec<String> {
    let role = role.map(|role| role.parse().unwrap());
    let (configs, report) = super::super::machine_configs(&documents(files).0, first_step, role.as_ref());
    assert!(report.is_empty(), "{:?}", lines(&report));
    configs.iter().map(|config| format!("{} {}", config.role, config.files.join(" "))).collect()
}

/// The codes of the findings about the documents.
fn found(files: &[(&str, &str)], first_step: &FirstStep) -> Vec<&'static str> {
    codes(&super::super::check(&documents(files).0, first_step))
}

#[test]
fn the_document_for_all_hosts_is_for_their_roles_too() {
    let files = [("cluster.yml", BRIDGE_WITH_DHCP)];
    for text in [INSTALL_CONFIG, ONLY_DHCP] {
        let first_step = first_step_of(text);
        assert_eq!(roles(&files, &first_step, None), ["master cluster.yml", "worker cluster.yml"]);
        let expected = ["infra cluster.yml", "master cluster.yml", "worker cluster.yml"];
        assert_eq!(roles(&files, &first_step, Some("infra")), expected);
    }
}

#[test]
fn a_document_of_their_own_has_their_role_and_a_host_that_uses_it() {
    let files = [("w0.yml", BRIDGE_WITH_DHCP)];
    for text in [INSTALL_CONFIG, ONLY_DHCP] {
        let first_step = first_step_of(text);
        assert_eq!(roles(&files, &first_step, None), ["worker w0.yml"]);
        assert!(!found(&files, &first_step).contains(&"second-step-host-not-in-first-step"));
        let other = [("w1.yml", BRIDGE_WITH_DHCP)];
        assert!(found(&other, &first_step).contains(&"second-step-host-not-in-first-step"));
    }
}

#[test]
fn an_address_in_the_document_for_all_hosts_would_be_theirs_too() {
    let text = scenario();
    let files = [("cluster.yml", text.as_str())];
    let (documents, _) = documents(&files);
    for text in [INSTALL_CONFIG, ONLY_DHCP] {
        let report = super::super::check(&documents, &first_step_of(text));
        let shared = lines(&report).into_iter().filter(|line| line.starts_with("error second-step-shared-address"));
        let shared: Vec<String> = shared.collect();
        assert!(shared.len() == 1 && shared[0].contains("2 hosts would have the same address"), "{shared:?}");
    }
}
