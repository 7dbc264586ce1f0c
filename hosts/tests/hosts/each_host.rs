//! Each host of an input with the errors about it: the errors of one host leave the others as they are.

use hosts::every_host::{EachHost, EveryHost};
use hosts::input::{Text, read_all};
use hosts::network::Target;
use proptest::prelude::*;

/// NMState of a NIC with this address, with the indentation of a Secret.
fn nmstate(address: &str) -> String {
    format!(
        "interfaces: [{{name: eth0, type: ethernet, state: up, ipv4: {{enabled: true, address: [{{ip: {address}, \
         prefix-length: 24}}]}}}}]"
    )
}

/// A BareMetalHost with the Secret of its network.
fn host(name: &str, network: &str) -> String {
    let secret =
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}-net}}\nstringData: {{nmstate: '{network}'}}\n");
    format!("{secret}---\n{}", without_secret(name))
}

fn without_secret(name: &str) -> String {
    format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}}}\n\
         spec: {{preprovisioningNetworkDataName: {name}-net}}\n---\n"
    )
}

fn each(documents: &str) -> EachHost {
    EveryHost::convert(read_all([Text { name: None, text: documents.as_bytes() }]), Target::default()).into_each()
}

/// The hosts by name: `None` if there is a network, else the codes of the findings.
fn outcomes(each: &EachHost) -> Vec<(&str, Option<Vec<&'static str>>)> {
    let outcome = |host: &hosts::every_host::OneHost| {
        let codes = host.findings.findings().iter().map(|finding| finding.code).collect();
        host.converted.is_none().then_some(codes)
    };
    each.hosts.iter().map(|host| (host.name.as_deref().unwrap_or_default(), outcome(host))).collect()
}

#[test]
fn errors_of_one_host_leave_the_others() {
    let documents = [
        host("a", &nmstate("192.0.2.10")),
        host("broken", "interfaces: ["),
        without_secret("missing"),
        host("wrong", &nmstate("192.0.2.300")),
        host("b", &nmstate("192.0.2.11")),
        host("long", &nmstate("192.0.2.12").replace("eth0", "a-name-that-is-too-long")),
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: mac}\nspec: {bootMACAddress: 'x', \
         preprovisioningNetworkDataName: a-net}\n"
            .to_owned(),
    ];
    let each = each(&documents.join("---\n"));
    assert!(!each.is_refused, "{:?}", each.common.findings());
    assert!(!each.common.has_errors(), "{:?}", each.common.findings());
    let outcomes = outcomes(&each);
    let names: Vec<&str> = outcomes.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["a", "broken", "missing", "wrong", "b", "long", "mac"], "in the order of the documents");
    let good: Vec<&str> = outcomes.iter().filter(|(_, refused)| refused.is_none()).map(|(name, _)| *name).collect();
    assert_eq!(good, ["a", "b"], "{outcomes:?}");
    for (name, code) in [("broken", "invalid-yaml"), ("missing", "network-secret-missing"), ("mac", "invalid-value")] {
        let found = outcomes.iter().find(|(each, _)| *each == name).unwrap();
        assert_eq!(found.1.as_deref(), Some(&[code][..]), "{name}");
    }
    assert!(each.hosts.iter().all(|host| host.converted.is_some() || host.findings.has_errors()));
}

#[test]
fn hosts_in_conflict_are_refused_both_and_no_others() {
    let conflict = |count: usize| {
        let mut documents: Vec<String> = (0..count).map(|n| host(&format!("c{n}"), &nmstate("192.0.2.9"))).collect();
        documents.push(host("good", &nmstate("192.0.2.10")));
        each(&documents.join("---\n"))
    };
    let two = conflict(2);
    let conflicts = Some(vec!["address-of-two-hosts"]);
    assert_eq!(outcomes(&two), [("c0", conflicts.clone()), ("c1", conflicts), ("good", None)]);
    assert!(!two.is_refused && two.common.is_empty());
    // Findings name only the first few.
    let many = conflict(20);
    let refused = outcomes(&many).iter().filter(|(_, refused)| refused.is_some()).count();
    assert_eq!((refused, many.is_refused), (20, false));
    assert!(many.common.has_errors(), "those without findings find them here");
}

#[test]
fn a_host_that_is_described_twice_is_refused_and_no_other() {
    let fleet = "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {name: f}\nspec:\n  hosts:\n    csv: |\n      \
                 name,address\n      a,192.0.2.1\n      b,192.0.2.2\n      a,192.0.2.3\n  template:\n    network: {interfaces: \
                 [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: '${address}', prefix-length: 24}]}}]}\n";
    let each = each(fleet);
    assert_eq!(outcomes(&each), [("a", Some(vec!["host-twice"])), ("b", None)]);
    assert!(!each.is_refused);
}

#[test]
fn rows_without_a_value_are_refused_and_no_others() {
    let fleet = |rows: &str| {
        format!(
            "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {{name: f}}\nspec:\n  hosts:\n    csv: |\n      \
             name,address,bmc\n{rows}  template:\n    bmc: {{address: '${{bmc}}'}}\n    network: {{interfaces: \
             [{{name: eth0, type: ethernet, state: up, ipv4: {{enabled: true, address: [{{ip: '${{address}}', prefix-length: 24}}]}}}}]}}\n"
        )
    };
    let rows = "      a,192.0.2.1,ipmi://192.0.2.101\n      b,,ipmi://192.0.2.102\n      c,192.0.2.3,ipmi://192.0.2.103\n      \
                d,,ipmi://192.0.2.104\n      e,192.0.2.5,\n";
    let each = each(&fleet(rows));
    let outcomes = outcomes(&each);
    let missing = |codes: &[&'static str]| Some(codes.to_vec());
    assert_eq!(
        outcomes,
        [
            ("a", None),
            ("b", missing(&["fleet-value-missing"])),
            ("c", None),
            // The finding about `b` counts this one.
            ("d", missing(&[])),
            ("e", missing(&["fleet-value-missing"])),
        ]
    );
    let common: Vec<String> = each.common.findings().iter().map(ToString::to_string).collect();
    assert!(common.iter().any(|finding| finding.contains("the same for 1 more host of the fleet: d")), "{common:?}");
    assert!(!each.is_refused);
}

#[test]
fn errors_about_no_single_host_refuse_all() {
    let hosts = host("a", &nmstate("192.0.2.10"));
    let broken = each(&format!("{hosts}---\n[\n"));
    assert!(broken.is_refused && broken.common.has_errors() && broken.hosts.is_empty());
    let secret = each(&format!("{hosts}apiVersion: v1\nkind: Secret\nmetadata: {{name: A_B}}\n"));
    assert!(secret.is_refused && secret.common.has_errors());
}

/// Thousands of hosts may name a Secret with thousands of errors.
#[test]
fn errors_of_a_shared_secret_are_reported_once() {
    let host = |number| without_secret(&format!("h{number}")).replace(&format!("h{number}-net"), "net");
    let hosts: String = (0..1000).map(host).collect();
    for (network, code, count, of_each) in [
        (format!("interfaces: [{}]", "!a 1, ".repeat(100)), "unknown-tag", 100, 20),
        ("interfaces: [{name: \"e\\x01\", type: ethernet}]".to_owned(), "control-character", 1, 1),
    ] {
        let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: net}\nstringData: {nmstate: 'NETWORK'}\n---\n";
        let documents = secret.replace("NETWORK", &network) + &hosts;
        let input = read_all([Text { name: None, text: documents.as_bytes() }]);
        let report = EveryHost::convert(input, Target::default()).into_converted().report;
        let of_code = report.findings().iter().filter(|finding| finding.code == code);
        assert_eq!(of_code.count(), count, "{code}: {}", report.findings().len());
        let each = each(&documents);
        assert_eq!((each.hosts.len(), each.is_refused), (1000, false));
        for (_, codes) in outcomes(&each) {
            assert_eq!(codes.unwrap().iter().filter(|found| **found == code).count(), of_each, "{code}");
        }
    }
}

#[test]
fn of_thousands_of_hosts_few_get_all_errors_of_their_network() {
    let secret = r#"{apiVersion: v1, kind: Secret, metadata: {name: net}, stringData: {nmstate: 'interfaces: [{name: "a\x01"}, {name: "b\x01"}]'}}"#;
    let host = |number| without_secret(&format!("h{number}")).replace(&format!("h{number}-net"), "net");
    let hosts: String = (0..200).map(host).collect();
    let each = each(&format!("{secret}\n---\n{hosts}"));
    let counts: Vec<usize> = outcomes(&each).into_iter().map(|(_, codes)| codes.unwrap().len()).collect();
    assert_eq!((counts.len(), counts[0], counts[99]), (200, counts[0], counts[0]));
    assert!(counts[0] >= 2 && counts[100..].iter().all(|count| *count == 1), "{counts:?}");
}

#[test]
fn findings_are_changed_together() {
    let documents = [host("a", &nmstate("192.0.2.300")), host("b", &nmstate("192.0.2.11")), without_secret("c")];
    let text = documents.join("---\n");
    let mut each = each(&text);
    let before: Vec<usize> = each.hosts.iter().map(|host| host.findings.findings().len()).collect();
    each.with_all_findings(|report| hosts::input::locate([Text { name: None, text: text.as_bytes() }], report));
    let after: Vec<usize> = each.hosts.iter().map(|host| host.findings.findings().len()).collect();
    assert_eq!(before, after);
    let lines = |index: usize| {
        let findings = each.hosts[index].findings.findings().iter();
        findings.filter_map(|finding| Some(finding.position.as_ref()?.line)).collect::<Vec<usize>>()
    };
    assert_eq!((lines(0), lines(2)), (vec![4], vec![26]));
}

proptest! {
    /// Which hosts are refused, and which are converted, does not depend on the hosts beside them.
    #[test]
    fn a_host_is_as_it_is_alone(kinds in prop::collection::vec(0..4_u8, 1..12)) {
        let documents: Vec<String> = kinds.iter().enumerate().map(|(number, kind)| {
            let (name, good) = (format!("h{number}"), nmstate(&format!("192.0.2.{}", number + 1)));
            match kind {
                0 => host(&name, "interfaces: 7"),
                1 => without_secret(&name),
                _ => host(&name, &good),
            }
        }).collect();
        let all = each(&documents.join("---\n"));
        prop_assert!(!all.is_refused);
        prop_assert_eq!(all.hosts.len(), kinds.len());
        for ((one, document), kind) in all.hosts.iter().zip(&documents).zip(kinds) {
            let alone = each(document);
            prop_assert_eq!(&one.converted, &alone.hosts[0].converted);
            prop_assert_eq!(one.converted.is_some(), kind > 1);
            prop_assert_eq!(one.converted.is_none(), one.findings.has_errors());
        }
    }
}
