//! `yes`, `no`, `on` and `off` without quotes: booleans where a reader of YAML 1.1 reads the document, and else texts.

use hosts::input::read;
use serde_yaml::Value;

use super::findings;

const NETWORK: &str = "{interfaces: [{name: on, description: yes, type: vlan, state: up, vlan: {base-iface: eth0, id: 7, \
                       reorder-headers: yes}, ethtool: {feature: {rx-gro: on, rx-lro: No, tx-nocache-copy: \"on\"}}, ipv4: \
                       {enabled: true, dhcp: true, dhcp-send-hostname: no}}]}";

/// The network of the only host in a document.
fn network(document: &str) -> Value {
    let mut input = read(document.as_bytes());
    assert!(!input.report.has_errors(), "{document}: {}", findings(&input));
    assert_eq!(input.hosts.len(), 1, "{document}");
    input.hosts.remove(0).network.as_nmstate().unwrap().value.clone()
}

#[test]
fn objects_have_the_booleans_that_kubectl_and_the_installer_read() {
    let nic = "[{name: eth0, macAddress: '52:54:00:00:00:01'}]";
    let config = format!(
        "{{apiVersion: agent-install.openshift.io/v1beta1, kind: NMStateConfig, metadata: {{name: a}}, spec: {{interfaces: \
         {nic}, config: {NETWORK}}}}}"
    );
    let site = format!(
        "{{hostName: a, bootMACAddress: '52:54:00:00:00:01', nodeNetwork: {{interfaces: {nic}, config: {NETWORK}}}}}"
    );
    for document in [
        config.clone(),
        format!("- {config}\n"),
        format!("{{apiVersion: v1, kind: List, items: [{config}]}}"),
        format!(
            "{{apiVersion: v1, platform: {{baremetal: {{hosts: [{{name: a, bootMACAddress: '52:54:00:00:00:01', networkConfig: \
             {NETWORK}}}]}}}}}}"
        ),
        format!(
            "{{apiVersion: v1beta1, kind: AgentConfig, hosts: [{{hostname: a, interfaces: {nic}, networkConfig: {NETWORK}}}]}}"
        ),
        format!(
            "{{apiVersion: siteconfig.open-cluster-management.io/v1alpha1, kind: ClusterInstance, metadata: {{name: c}}, spec: \
             {{clusterName: c, nodes: [{site}]}}}}"
        ),
        format!(
            "{{apiVersion: ran.openshift.io/v1, kind: SiteConfig, metadata: {{name: c}}, spec: {{clusters: [{{clusterName: c, \
             nodes: [{site}]}}]}}}}"
        ),
        format!(
            "{{apiVersion: nmstate.io/v1, kind: NodeNetworkConfigurationPolicy, metadata: {{name: a}}, spec: {{desiredState: \
             {NETWORK}}}}}"
        ),
    ] {
        let interface = &network(&document)["interfaces"][0];
        assert_eq!(interface["vlan"]["reorder-headers"], Value::Bool(true), "{document}");
        assert_eq!(interface["ipv4"]["dhcp-send-hostname"], Value::Bool(false), "{document}");
        let features = &interface["ethtool"]["feature"];
        assert_eq!((&features["rx-gro"], &features["rx-lro"]), (&true.into(), &false.into()), "{document}");
        // In quotes it is a text for everybody, which nmstate refuses.
        assert_eq!(features["tx-nocache-copy"], Value::from("on"), "{document}");
        // No boolean belongs here.
        assert_eq!((&interface["name"], &interface["description"]), (&"on".into(), &"yes".into()), "{document}");
    }
}

#[test]
fn merged_members_and_aliases_are_read_alike() {
    let interface = "name: eth0\n      type: ethernet\n      state: up";
    let document = format!(
        "apiVersion: nmstate.io/v1\nkind: NodeNetworkConfigurationPolicy\nmetadata: {{name: a, annotations: {{x: &no no}}}}\n\
         spec:\n  desiredState:\n    interfaces:\n    - {interface}\n      ipv4: &ip {{enabled: true, dhcp: true, \
         dhcp-send-hostname: *no}}\n      ipv6: {{<<: *ip, autoconf: true}}\n"
    );
    let interface = &network(&document)["interfaces"][0];
    for family in ["ipv4", "ipv6"] {
        assert_eq!(interface[family]["dhcp-send-hostname"], Value::Bool(false), "{family}");
    }
}

#[test]
fn nmstate_by_itself_and_in_a_secret_has_texts() {
    let secret = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: a}\nspec: \
                  {preprovisioningNetworkDataName: n}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: n}\nstringData:\n  \
                  nmstate: |\n    ";
    for document in [NETWORK.to_owned(), format!("{secret}{NETWORK}\n")] {
        assert_eq!(network(&document)["interfaces"][0]["vlan"]["reorder-headers"], Value::from("yes"), "{document}");
    }
}
