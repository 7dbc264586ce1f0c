//! The network that a document describes is the network that its keyfiles make.

#[allow(unreachable_pub, reason = "the acceptance tests take it, too")]
use crate::documents;
use crate::nics;

use std::cell::Cell;
use std::fs;
use std::path::Path;

use documents::documents;
use hosts::model::{Ip, Kind, Topology};
use hosts::network;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRng, TestRunner};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

/// Without the places, which differ, without what profiles say nothing of, and in one order.
fn bare(mut topology: Topology) -> Topology {
    let ip = |ip: &mut Ip| {
        ip.path = DocumentPath::root();
        ip.addresses.iter_mut().for_each(|address| address.path = DocumentPath::root());
    };
    for interface in &mut topology.interfaces {
        interface.path = DocumentPath::root();
        interface.label.clone_from(&interface.name);
        interface.ports.iter_mut().for_each(|port| port.path = DocumentPath::root());
        interface.ports.sort_by(|a, b| a.name.cmp(&b.name));
        ip(&mut interface.ipv4);
        ip(&mut interface.ipv6);
        if let Kind::Vlan(vlan) = &mut interface.kind {
            // Profiles always say these.
            vlan.options.loose_binding.get_or_insert(false);
            vlan.options.reorder_headers.get_or_insert(true);
        }
    }
    for route in &mut topology.routes {
        route.path = DocumentPath::root();
        route.gateway_path = DocumentPath::root();
        route.metric = route.unusual_metric();
    }
    topology.rules.iter_mut().for_each(|rule| rule.path = DocumentPath::root());
    topology.dns.search_path = DocumentPath::root();
    topology.dns.servers.iter_mut().for_each(|server| server.path = DocumentPath::root());
    topology.routes.sort_by_key(|route| format!("{route:?}"));
    topology
}

#[test]
fn documents_and_their_keyfiles_describe_the_same_network() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/nmstate");
    let mut seen = 0;
    for case in fs::read_dir(cases).unwrap() {
        let case = case.unwrap().path();
        let Ok(text) = fs::read_to_string(case.join("nmstate.yaml")) else { continue };
        let boot_mac = fs::read_to_string(case.join("boot-mac")).ok();
        let document = NmstateDocument::new(serde_yaml::from_str(&text).unwrap(), DocumentPath::root());
        let host = HostSpec {
            boot_mac: boot_mac.map(|mac| mac.trim().parse().unwrap()),
            nics: nics::beside(&case.join("nmstate.yaml")),
            ..HostSpec::with_network(document)
        };
        let (network, report) = network::convert(&host);
        let network = network.unwrap_or_else(|| panic!("{}: {report:?}", case.display()));
        let from_keyfiles = Topology::from_keyfiles(&network.keyfiles, network.hostname.as_ref());
        assert_eq!(bare(network.topology), bare(from_keyfiles), "{}", case.display());
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}

/// Hundreds of documents that nobody has written, the same at every run.
#[test]
fn arbitrary_documents_and_their_keyfiles_describe_the_same_network() {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let seen = Cell::new(0);
    let result = TestRunner::new_with_rng(config, rng).run(&documents(), |document| {
        let value = serde_yaml::to_value(&document).unwrap();
        let host = HostSpec::with_network(NmstateDocument::new(value, DocumentPath::root()));
        // What is refused has no keyfiles: few are, see the acceptance tests.
        let (Some(network), _) = network::convert(&host) else { return Ok(()) };
        seen.set(seen.get() + 1);
        let from_keyfiles = Topology::from_keyfiles(&network.keyfiles, network.hostname.as_ref());
        let profiles: Vec<&str> = network.keyfiles.iter().map(|keyfile| keyfile.content.as_str()).collect();
        prop_assert_eq!(bare(network.topology), bare(from_keyfiles), "{}", profiles.join("\n"));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    assert!(seen.get() > 280, "{}", seen.get());
}
