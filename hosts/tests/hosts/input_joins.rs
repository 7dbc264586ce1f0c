//! One host in documents of many shapes, and in several documents at once: whatever describes it, it is the same host.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hosts::input::{Input, Text, read, read_all, read_bmcs};
use hosts::network;
use vocabulary::host::HostSpec;

fn folder(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    paths
}

fn keyfiles(text: &[u8]) -> Vec<(String, String)> {
    let input = read(text);
    assert_eq!((input.hosts.len(), input.report.findings()), (1, &[][..]));
    let (network, report) = network::convert(&input.hosts[0]);
    assert!(!report.has_errors(), "{report:?}");
    network.unwrap().keyfiles.into_iter().map(|keyfile| (keyfile.name.to_string(), keyfile.content)).collect()
}

#[test]
fn one_host_in_every_shape_gives_the_same_bytes() {
    let firsts = ["nmstate.yaml", "with-nics-agent-config.yaml"];
    let all = folder("inputs/same-host");
    assert!(all.len() > 8);
    for first in firsts {
        let is_like = |path: &&PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("with-nics-") == first.starts_with("with-nics-")
        };
        let expected = keyfiles(&fs::read(all[0].with_file_name(first)).unwrap());
        assert_eq!(expected.len(), 1);
        let mut count = 0;
        for path in all.iter().filter(is_like) {
            assert_eq!(keyfiles(&fs::read(path).unwrap()), expected, "{}", path.display());
            count += 1;
        }
        assert!(count > 3);
    }
}

/// Documents in another order, and each in a file of its own.
#[test]
fn the_order_of_documents_and_their_files_do_not_matter() {
    let without_paths = |input: Input| {
        let mut hosts: Vec<(Option<String>, Option<String>, String)> = input
            .hosts
            .iter()
            .map(|host: &HostSpec| {
                let network = host.network.as_nmstate().map(|document| document.value.clone());
                let rest =
                    format!("{:?} {:?} {:?} {:?} {network:?}", host.boot_mac, host.role, host.bmc, host.nics.len());
                (host.name.clone(), host.hostname.as_ref().map(ToString::to_string), rest)
            })
            .collect();
        hosts.sort();
        let facts = input.cluster.map(|cluster| (cluster.machine_networks.len(), cluster.virtual_ips.len()));
        (hosts, facts, input.report.findings().len())
    };
    for path in folder("inputs/joined") {
        let text = fs::read_to_string(&path).unwrap();
        let expected = without_paths(read(text.as_bytes()));
        let mut documents: Vec<&str> = text.split("---\n").collect();
        documents.reverse();
        assert_eq!(without_paths(read(documents.join("---\n").as_bytes())), expected, "{}", path.display());
        let names: Vec<String> = (0..documents.len()).map(|number| format!("{number}.yaml")).collect();
        let texts = names.iter().zip(&documents);
        let texts = texts.map(|(name, text)| Text { name: Some(name.as_str()), text: text.as_bytes() });
        assert_eq!(without_paths(read_all(texts)), expected, "{}", path.display());
    }
}

#[test]
fn policies_of_one_host_are_one_document_whose_findings_name_the_policy() {
    let scenario = folder("scenarios").into_iter().find(|path| path.ends_with("linux-bridges-nncp.yaml")).unwrap();
    let text = fs::read_to_string(scenario).unwrap();
    let input = read(text.as_bytes());
    assert_eq!(input.hosts[0].name.as_deref(), Some("hub-node1"));
    let names: Vec<String> =
        network::convert(&input.hosts[0]).0.unwrap().keyfiles.iter().map(|file| file.name.to_string()).collect();
    for name in ["br-ex-ens7f0", "br-ex-ens7f1", "ens7f0", "ens7f1"] {
        assert!(names.contains(&format!("{name}.nmconnection")), "{names:?}");
    }
    // The second policy's address is wrong, and that is said where it stands.
    let spoiled = text.replace("10.10.10.2", "10.10.10.300");
    let (network, report) = network::convert(&read(spoiled.as_bytes()).hosts[0]);
    assert!(network.is_none());
    let path = report.findings()[0].path.to_string();
    let expected = "NodeNetworkConfigurationPolicy/br-ex-ens7f1-policy-hub-node1: spec.desiredState.interfaces[0].";
    assert!(path.starts_with(expected), "{path}");
}

#[test]
fn of_many_hosts_with_one_mac_address_few_are_named() {
    let host = |number| {
        format!(
            "---\n{{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {{name: h{number}}}, spec: {{bootMACAddress: \
             '52:54:00:00:00:01'}}}}\n"
        )
    };
    let network = "---\n{apiVersion: agent-install.openshift.io/v1beta1, kind: NMStateConfig, metadata: {name: n}, spec: {interfaces: \
                   [{name: eth0, macAddress: '52:54:00:00:00:01'}], config: {interfaces: []}}}\n";
    for (count, end) in [(20, "h9 and 10 more; "), (1000, "h9 and others; ")] {
        let found = read(((0..count).map(host).collect::<String>() + network).as_bytes());
        let messages = found.report.findings().iter().filter(|finding| finding.code == "host-ambiguous");
        let messages: Vec<&str> = messages.map(|finding| finding.message.as_str()).collect();
        assert!(matches!(messages.as_slice(), [one] if one.contains(end)), "{count}: {messages:?}");
    }
}

/// Hosts without a network of their own, and policies for all of them with these states.
fn policies_for_all(hosts: usize, states: &[&str]) -> String {
    let host = |number| {
        format!(
            "---\n{{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {{name: h{number}}}, spec: {{}}}}\n"
        )
    };
    let policy = |(number, state)| {
        format!(
            "---\n{{apiVersion: nmstate.io/v1, kind: NodeNetworkConfigurationPolicy, metadata: {{name: p{number}}}, \
             spec: {{desiredState: {state}}}}}\n"
        )
    };
    (0..hosts).map(host).chain(states.iter().enumerate().map(policy)).collect()
}

#[test]
fn what_is_wrong_in_a_policy_is_reported_once_however_many_hosts_it_is_for() {
    let mtu = |mtu: &str| format!("{{interfaces: [{{name: eth0, type: ethernet, mtu: {mtu}}}]}}");
    let names = |count: usize, letter: &str| {
        let names: Vec<String> = (0..count).map(|number| format!("{letter}{number}")).collect();
        format!("{{dns-resolver: {{config: {{search: [{}]}}}}}}", names.join(", "))
    };
    for (states, code) in [
        ([mtu("1500"), mtu("'{{ capture.a }}'")], "policy-capture"),
        ([mtu("1500"), mtu("9000")], "documents-contradict"),
        ([names(1500, "a"), names(501, "b")], "list-too-long"),
    ] {
        let found = read(policies_for_all(3, &states.each_ref().map(String::as_str)).as_bytes());
        let codes = found.report.findings().iter().map(|finding| finding.code);
        assert_eq!(codes.filter(|found| *found == code).count(), 1, "{code}: {:?}", found.report);
        assert!(found.hosts.is_empty());
    }
    // Entries that policies have in common count once.
    let same = names(1500, "a");
    let found = read(policies_for_all(3, &[&same, &same]).as_bytes());
    assert_eq!((found.hosts.len(), found.report.has_errors()), (3, false), "{:?}", found.report);
}

/// Comparing each entry with all others took more than a minute for 230 hosts.
#[test]
fn large_policies_are_merged_at_once() {
    let routes = |of: usize| {
        let route = |number: usize| {
            format!("{{destination: 10.{of}.{}.{}/32, next-hop-interface: eth0}}", number / 250, number % 250)
        };
        let routes: Vec<String> = (0..1000).map(route).collect();
        format!("{{routes: {{config: [{}]}}}}", routes.join(", "))
    };
    let documents = policies_for_all(300, &[&routes(1), &routes(2)]);
    let start = Instant::now();
    let found = read(documents.as_bytes());
    assert_eq!((found.hosts.len(), found.report.has_errors()), (300, false), "{:?}", found.report);
    let last = &found.hosts[299].network.as_nmstate().unwrap().value["routes"]["config"][1999];
    assert_eq!(last["destination"].as_str(), Some("10.2.3.249/32"));
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn bmcs_are_read_from_openshifts_files() {
    let file = |name: &str| folder("inputs/joined").into_iter().find(|path| path.ends_with(name)).unwrap();
    let text = fs::read(file("install-config-and-agent-config.yaml")).unwrap();
    let (bmcs, report) = read_bmcs([Text { name: None, text: &text }]);
    assert!(report.is_empty(), "{report:?}");
    let names: Vec<&str> = bmcs.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["master-0", "master-1"]);
    let credentials = bmcs[0].bmc.credentials.as_ref().unwrap();
    assert_eq!((credentials.username.as_str(), credentials.password.as_str()), ("admin", "hunter2"));
    let without = "{apiVersion: v1, platform: {baremetal: {hosts: [{name: a, bmc: {address: 'redfish://192.0.2.1', \
                   username: u, password: 7}}]}}}";
    let (bmcs, _) = read_bmcs([Text { name: None, text: without.as_bytes() }]);
    let reason = bmcs[0].bmc.credentials.as_ref().unwrap_err().to_string();
    assert_eq!(reason, "platform.baremetal.hosts[0].bmc.password is a number without quotes; a text belongs here");
}

/// A site cannot say whether the BMC's certificate is verified. The `BareMetalHost` that its operator makes says so.
#[test]
fn a_site_does_not_contradict_the_host_that_its_operator_made() {
    const SITE: &str = "apiVersion: siteconfig.open-cluster-management.io/v1alpha1
kind: ClusterInstance
metadata: {name: c, namespace: c}
spec:
  clusterName: c
  nodes:
  - hostName: a
    bootMACAddress: '52:54:00:00:00:01'
    bmcAddress: redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1
    bmcCredentialsName: {name: a-bmc}
    nodeNetwork:
      interfaces: [{name: eth0, macAddress: '52:54:00:00:00:01'}]
      config: {interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}}]}
";
    const MADE: &str = "apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: a, namespace: c}
spec:
  bootMACAddress: '52:54:00:00:00:01'
  bmc:
    address: redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1
    credentialsName: a-bmc
    disableCertificateVerification: true
";
    const SECRET: &str = "apiVersion: v1
kind: Secret
metadata: {name: a-bmc, namespace: c}
stringData: {username: admin, password: hunter2}
";
    let verifies = |documents: &[&str]| {
        let text = documents.join("---\n");
        let (bmcs, report) = read_bmcs([Text { name: None, text: text.as_bytes() }]);
        let input = read(text.as_bytes());
        assert!(input.report.is_empty() && report.is_empty(), "{:?} {report:?}", input.report);
        assert_eq!((input.hosts.len(), bmcs.len()), (1, 1));
        let disabled = input.hosts[0].bmc.as_ref().unwrap().disable_certificate_verification;
        assert_eq!(bmcs[0].bmc.disable_certificate_verification, disabled);
        !disabled
    };
    assert!(verifies(&[SITE, SECRET]));
    let verifying = MADE.replace("true", "false");
    for [first, second] in [[SITE, MADE], [MADE, SITE]] {
        assert!(!verifies(&[first, second, SECRET]));
        assert!(verifies(&[&first.replace(MADE, &verifying), &second.replace(MADE, &verifying), SECRET]));
    }
    // Documents that can say it may not contradict each other.
    let install_config = "apiVersion: v1\nmetadata: {name: c}\nplatform: {baremetal: {hosts: [{name: a, bmc: {address: \
                          'redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1', username: admin, password: hunter2}}]}}\n";
    let text = [SITE, install_config, MADE, SECRET].join("---\n");
    let report = read(text.as_bytes()).report;
    assert!(report.findings().iter().any(|finding| finding.code == "documents-contradict"), "{report:?}");
}
