use std::path::Path;

use super::*;
use crate::input;
use crate::network::{self, Keyfile};
use vocabulary::host::{BmcCredentials, BmcSpec, NamedNic, NoCredentials};

fn fixture(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)).unwrap()
}

fn hosts(text: &str) -> Vec<HostSpec> {
    let input = input::read(text.as_bytes());
    assert!(!input.report.has_errors(), "{:?}\n{text}", input.report.findings());
    input.hosts
}

fn options() -> ManifestOptions {
    let namespace = "openshift-machine-api".parse().unwrap();
    ManifestOptions { namespace, bmc_secrets: true, online: true, install_coreos: false }
}

/// The objects of a host, and what is said of them.
fn made(host: &HostSpec, options: &ManifestOptions) -> (Vec<HostManifests>, Report) {
    manifests([host], options)
}

fn keyfiles(host: &HostSpec) -> (Vec<Keyfile>, Option<HostName>) {
    let network = network::convert(host).0.unwrap();
    (network.keyfiles, network.hostname)
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.findings().iter().map(|finding| finding.code).collect()
}

/// A host of which all is known, with a network of a fixture.
fn host(case: &str) -> HostSpec {
    let mut host = hosts(&fixture(&format!("nmstate/{case}/nmstate.yaml"))).remove(0);
    host.name = Some("worker-0".to_owned());
    host.hostname = Some("worker-0".parse().unwrap());
    host.boot_mac = Some("52:54:00:12:34:56".parse().unwrap());
    host.boot_mode = Some("UEFI".parse().unwrap());
    host.architecture = Some("aarch64".parse().unwrap());
    host.root_device_hints =
        serde_yaml::from_str("{deviceName: /dev/sda, minSizeGigabytes: 100, rotational: false}").unwrap();
    host.bmc = Some(BmcSpec {
        address: "redfish-virtualmedia+https://[2001:db8::1]/redfish/v1/Systems/1".to_owned(),
        credentials_name: None,
        credentials: Ok(BmcCredentials { username: "yes".to_owned(), password: "a: 'b' \"c\" #\\ 0x1 é".to_owned() }),
        disable_certificate_verification: true,
    });
    host
}

#[test]
fn what_is_written_is_the_same_host_when_it_is_read_again() {
    let cases = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/nmstate")).unwrap();
    let mut compared = 0;
    for case in cases {
        let case = case.unwrap().file_name().into_string().unwrap();
        if case == "invalid" {
            continue;
        }
        let host = HostSpec { boot_mac: None, ..host(&case) };
        // Some are about what stands beside the document.
        if network::convert(&host).0.is_none() {
            continue;
        }
        let (made, report) = made(&host, &options());
        assert!(!report.has_errors(), "{case}: {:?}", report.findings());
        let again = hosts(&made[0].yaml).remove(0);
        assert_eq!(keyfiles(&again), keyfiles(&host), "{case}\n{}", made[0].yaml);
        assert_eq!(again.network.as_nmstate().unwrap().value, host.network.as_nmstate().unwrap().value, "{case}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
    let host = HostSpec { name: Some("worker-0".to_owned()), ..host("vlan-qos") };
    let made = made(&host, &options()).0;
    let mut again = hosts(&made[0].yaml).remove(0);
    let bmc = again.bmc.as_mut().unwrap();
    assert_eq!(bmc.credentials_name.take().as_deref(), Some("worker-0-bmc-secret"));
    // Where it stands is another place.
    assert_eq!(HostSpec { network: host.network.clone(), paths: host.paths.clone(), ..again }, host);
}

#[test]
fn the_scenario_of_metal3_is_made_again() {
    let first = hosts(&fixture("scenarios/static-ipv4-baremetalhost.yaml"));
    let (made, report) = made(&first[0], &options());
    assert!(report.is_empty(), "{:?}", report.findings());
    let expected: Vec<serde_json::Value> =
        serde_yaml::Deserializer::from_str(&fixture("scenarios/static-ipv4-baremetalhost.yaml"))
            .map(|document| serde::Deserialize::deserialize(document).unwrap())
            .collect();
    let written: Vec<serde_json::Value> = serde_yaml::Deserializer::from_str(&made[0].yaml)
        .map(|document| serde::Deserialize::deserialize(document).unwrap())
        .collect();
    assert_eq!(written.len(), 3);
    assert_eq!(written[2], expected[2]);
    for (written, expected) in written.iter().zip(&expected) {
        assert_eq!(written["metadata"], expected["metadata"]);
    }
}

#[test]
fn nics_and_host_names_go_into_the_network() {
    let mut named = host("static-ipv4-baremetalhost");
    named.nics = vec![NamedNic {
        name: "enp2s0".to_owned(),
        mac: "52:54:00:00:00:01".parse().unwrap(),
        path: DocumentPath::root(),
    }];
    named.hostname = Some("worker-0.example.com".parse().unwrap());
    let (made, report) = made(&named, &options());
    assert!(!report.has_errors(), "{:?}", report.findings());
    let again = hosts(&made[0].yaml).remove(0);
    assert!(again.nics.is_empty());
    assert_eq!(keyfiles(&again), keyfiles(&named));
    assert!(made[0].yaml.contains("mac-address: \"52:54:00:00:00:01\""), "{}", made[0].yaml);
}

#[test]
fn options_say_what_is_made() {
    let host = HostSpec { role: Some("master".to_owned()), ..host("vlan-qos") };
    let made = |options: &ManifestOptions| made(&host, options).0.remove(0).yaml;
    let plain = made(&options());
    assert!(plain.contains("online: true") && !plain.contains("customDeploy") && plain.matches("---\n").count() == 2);
    let other = made(&ManifestOptions {
        namespace: "metal3".parse().unwrap(),
        bmc_secrets: false,
        online: false,
        install_coreos: true,
    });
    assert_eq!((other.matches("namespace: metal3\n").count(), other.matches("---\n").count()), (3, 1));
    assert!(other.contains("online: false") && other.contains("method: install_coreos"));
    assert!(other.contains("name: master-user-data-managed") && !other.contains("password"));
    for bad in ["", "a.b", "A", &"a".repeat(64)] {
        assert!(bad.parse::<Namespace>().is_err(), "{bad}");
    }
}

#[test]
fn what_metal3_would_miss_is_said() {
    let host = host("vlan-qos");
    let found = |host: &HostSpec| codes(&made(host, &options()).1);
    assert_eq!(found(&host), [""; 0]);
    assert_eq!(found(&HostSpec { bmc: None, ..host.clone() }), ["manifest-without-bmc"]);
    assert_eq!(found(&HostSpec { boot_mac: None, ..host.clone() }), ["manifest-without-boot-mac"]);
    let mut unknown = host.clone();
    unknown.bmc.as_mut().unwrap().credentials = Err(NoCredentials("spec.bmc".to_owned()));
    assert_eq!(found(&unknown), ["manifest-without-bmc-secret"]);
    assert_eq!(found(&HostSpec { name: Some("Worker".to_owned()), ..host.clone() }), ["manifest-name"]);
    assert_eq!(found(&HostSpec { name: None, hostname: None, ..host.clone() }), ["manifest-name"]);
    let (made, report) = manifests([&host, &host], &options());
    assert_eq!((made.len(), codes(&report)), (1, vec!["manifest-name"]));
    let keyfiles = HostSpec { network: NetworkDocument::Keyfiles(Vec::new()), ..host };
    assert_eq!(codes(&manifests([&keyfiles], &options()).1), ["manifest-keyfiles"]);
}
