//! What is wrong with a network, and what is not: documents of `fixtures/checks` with the findings that stand beside
//! them. `UPDATE_GOLDEN=1` rewrites those.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use hosts::answers::{InstalledSystem, complete, network_files};
use hosts::every_host::convert;
use hosts::input::{self, Input, Text};
use hosts::network::{NetworkFiles, Target, convert_network};
use hosts::second_step::{self, SecondStepText};
use vocabulary::answers::{Answers, Installer};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};

fn documents(directory: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/checks").join(directory);
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut documents: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect();
    documents.sort();
    assert!(!documents.is_empty(), "{directory}");
    documents
}

fn fixtures(directory: &str) -> Vec<PathBuf> {
    let documents = documents(directory);
    assert!(documents.len() >= 5, "{documents:?}");
    documents
}

fn findings(document: &Path) -> Report {
    convert(input::read(&fs::read(document).unwrap())).report
}

fn lines(report: &Report) -> String {
    report.findings().iter().fold(String::new(), |mut text, finding| {
        writeln!(text, "{} {}: {finding}", finding.severity, finding.code).unwrap();
        text
    })
}

/// The documents of a directory against their findings; the codes that were found.
fn bad(directory: &str) -> BTreeSet<&'static str> {
    compared(fixtures(directory), findings)
}

fn compared(documents: Vec<PathBuf>, findings: impl Fn(&Path) -> Report) -> BTreeSet<&'static str> {
    let (mut wrong, mut codes) = (Vec::new(), BTreeSet::new());
    for document in documents {
        let report = findings(&document);
        let name = document.file_stem().unwrap().to_str().unwrap();
        let subject = report.findings().iter().map(|finding| finding.code).find(|code| name.starts_with(code));
        assert!(subject.is_some(), "{name} is there for another reason: {}", lines(&report));
        codes.extend(subject);
        let golden = document.with_extension("findings");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(golden, lines(&report)).unwrap();
        } else if fs::read_to_string(golden).unwrap_or_default() != lines(&report) {
            wrong.push(format!("{name}: found\n{}", lines(&report)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    codes
}

/// The codes that the sources of a module name.
fn codes_of(module: &str) -> BTreeSet<String> {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check").join(module);
    let mut codes = BTreeSet::new();
    for entry in fs::read_dir(module).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() != "tests.rs" {
            let text = fs::read_to_string(path).unwrap();
            let texts = text.split('"').skip(1).step_by(2);
            let explained = texts.filter(|text| vocabulary::report::explain(text).is_some());
            codes.extend(explained.map(str::to_owned));
        }
    }
    codes
}

#[test]
fn every_rule_about_one_host_has_a_document_that_breaks_it() {
    let found = bad("host");
    let missing: Vec<String> = codes_of("host").into_iter().filter(|code| !found.contains(code.as_str())).collect();
    // This one needs the host's boot MAC address: see the tests of the rules.
    assert_eq!(missing, ["boot-nic-unused"]);
}

#[test]
fn nothing_is_said_of_one_host_that_is_right() {
    for document in fixtures("host/good") {
        let report = findings(&document);
        assert!(report.is_empty(), "{}: {}", document.display(), lines(&report));
    }
}

#[test]
fn every_rule_about_several_hosts_has_a_document_that_breaks_it() {
    let found = bad("fleet");
    let missing: Vec<String> = codes_of("fleet").into_iter().filter(|code| !found.contains(code.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The findings about the only host of a document whose network goes to a drive.
fn on_a_drive(document: &Path, files: NetworkFiles) -> Report {
    let target = Target { files, ..Target::default() };
    convert_network(&only_host(document), target).1
}

/// The findings about the only host of a document for the Debian installer.
fn in_the_installer(document: &Path) -> Report {
    let kind = Installer::Preseed;
    let target = Target { files: network_files(kind), no_auto_default: true, ..Target::default() };
    let (network, mut report) = convert_network(&only_host(document), target);
    let network = network.unwrap_or_else(|| panic!("{}", lines(&report)));
    let system = InstalledSystem { network: &network, hostname: network.hostname.as_ref(), no_auto_default: true };
    let completed = complete(&Answers { kind, text: String::new() }, system, &mut report);
    assert!(completed.is_ok(), "{}", lines(&report));
    report
}

/// The findings about the second step beside a document of the first.
fn in_the_second_step(document: &Path) -> Report {
    let (first, second) = (fs::read(document).unwrap(), fs::read(document.with_extension("second-step.yml")).unwrap());
    let (hosts, first_read) = second_step::read_first_step([of_host("a.yaml", &first)]);
    assert!(first_read.is_empty(), "{}", lines(&first_read));
    let (documents, mut report) = second_step::read([of_host("a.yml", &second)]);
    report.append(second_step::check(&documents, &hosts));
    report
}

fn of_host<'a>(file_name: &'a str, text: &'a [u8]) -> SecondStepText<'a> {
    SecondStepText { file_name: Some(file_name), text: Text { name: None, text } }
}

fn only_host(document: &Path) -> HostSpec {
    input::read(&fs::read(document).unwrap()).hosts.into_iter().next().unwrap()
}

/// Some mistakes show only where the network is used. The tests of each use have the other rules.
#[test]
fn some_rules_are_about_one_use_of_a_network() {
    let mut found = compared(documents("drive"), |document| on_a_drive(document, NetworkFiles::NetworkData));
    found.extend(compared(documents("seed"), |document| on_a_drive(document, NetworkFiles::NetworkConfig)));
    found.extend(compared(documents("installer"), in_the_installer));
    found.extend(compared(documents("second-step"), in_the_second_step));
    let expected = [
        "default-route-not-kept",
        "dhcpv6-duid-not-kept",
        "installer-without-router",
        "ipv6-not-switched-off",
        "mac-address-made-up",
        "only-with-netplan",
        "second-step-rule-lost",
    ];
    assert_eq!(found, BTreeSet::from(expected));
    for code in found {
        assert_documented(code);
    }
}

/// What NetworkManager does not do is no mistake where another program reads the network.
#[test]
fn some_rules_depend_on_the_program_that_reads_the_network() {
    let of = |document: &str, code: &str, files: NetworkFiles| {
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/checks/host").join(document);
        let report = on_a_drive(&document, files);
        let found = report.findings().iter().filter(|finding| finding.code == code);
        found.map(|finding| format!("{} {}", finding.severity, finding.message)).collect::<Vec<_>>()
    };
    for (document, code, keyfiles, talos) in [
        ("bond-mac-refused.yaml", "bond-mac-refused", "error sets ", "warning sets "),
        ("route-source-elsewhere.yaml", "route-source-elsewhere", "warning is ", "warning is "),
    ] {
        let found = of(document, code, NetworkFiles::Keyfiles);
        let is_expected =
            |finding: &String| finding.starts_with(keyfiles) && finding.contains("NetworkManager does not");
        assert!(found.len() > 1 && found.iter().all(is_expected), "{found:?}");
        let on_talos = of(document, code, NetworkFiles::TalosNetwork);
        let is_expected = |finding: &String| finding.starts_with(talos) && !finding.contains("NetworkManager");
        assert!(on_talos.len() == found.len() && on_talos.iter().all(is_expected), "{on_talos:?}");
        for files in [NetworkFiles::NetworkdUnits, NetworkFiles::NetworkConfig, NetworkFiles::NetworkData] {
            assert_eq!(of(document, code, files), [""; 0], "{files:?}");
        }
    }
    for code in ["bond-option-refused", "bridge-port-zero", "vrf-mtu-unused"] {
        let document = format!("{code}.yaml");
        assert!(!of(&document, code, NetworkFiles::Keyfiles).is_empty(), "{code}");
        assert_eq!(of(&document, code, NetworkFiles::NetworkdUnits), [""; 0], "{code}");
    }
}

#[test]
fn nothing_is_said_of_hosts_that_fit() {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scenarios/virtual-ips-install-config.yaml");
    for document in fixtures("fleet/good").into_iter().chain([scenario]) {
        let report = findings(&document);
        assert!(report.is_empty(), "{}: {}", document.display(), lines(&report));
    }
}

/// However many hosts have one address: the time is not that of their square, and the findings are bounded.
#[test]
fn many_hosts_of_one_address_are_a_few_findings() {
    let path = DocumentPath::root();
    let document = "{interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]}";
    let host = HostSpec::with_network(NmstateDocument::new(serde_yaml::from_str(document).unwrap(), path));
    let converted = convert(Input { hosts: vec![host; 2000], ..Input::default() });
    assert_eq!(converted.hosts.len(), 2000);
    let codes: BTreeSet<&str> = converted.report.findings().iter().map(|finding| finding.code).collect();
    assert_eq!(codes, BTreeSet::from(["address-of-two-hosts"]));
    assert_eq!(converted.report.findings().len(), 5);
}

/// The tables of `docs/checks.md` have every rule, with the words of its explanation.
#[test]
fn the_rules_are_documented() {
    for code in codes_of("host").into_iter().chain(codes_of("fleet")) {
        assert_documented(&code);
    }
}

fn assert_documented(code: &str) {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/checks.md")).unwrap();
    let title = vocabulary::report::explain(code).unwrap().title;
    let row = text.lines().find(|line| line.starts_with(&format!("| `{code}` |")));
    assert!(row.is_some_and(|row| row.ends_with(&format!("| {title} |"))), "{code}: {title}");
}

/// What is wrong with the object of a host does not hide what is wrong with its network, in any shape.
#[test]
fn a_mistake_beside_the_network_hides_none_in_it() {
    let network = "{interfaces: [{name: eth0, type: ethernet, state: up, mtu: 20, \
                   ipv4: {enabled: true, address: [{ip: 192.0.2.300, prefix-length: 24}]}}]}";
    let shapes = [
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: n}}\nstringData:\n  nmstate: |\n    {network}\n---\n\
             apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: a}}\n\
             spec: {{bootMACAddress: '52:54', preprovisioningNetworkDataName: n}}\n"
        ),
        format!(
            "apiVersion: v1\nbaseDomain: example.com\nmetadata: {{name: c}}\nplatform: {{baremetal: {{hosts: [\
             {{name: a, bootMACAddress: '52:54', networkConfig: {network}}}]}}}}\n"
        ),
        format!(
            "apiVersion: v1beta1\nkind: AgentConfig\nmetadata: {{name: c}}\nrendezvousIP: 192.0.2.10\nhosts: [\
             {{hostname: a_b, interfaces: [{{name: eth0, macAddress: '52:54:00:12:34:56'}}], networkConfig: {network}}}]\n"
        ),
        format!(
            "apiVersion: siteconfig.open-cluster-management.io/v1alpha1\nkind: ClusterInstance\nmetadata: {{name: c}}\n\
             spec: {{clusterName: c, nodes: [{{hostName: a, bootMACAddress: '52:54', nodeNetwork: {{interfaces: [\
             {{name: eth0, macAddress: '52:54:00:12:34:56'}}], config: {network}}}}}]}}\n"
        ),
        format!(
            "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {{name: rack}}\nspec:\n  hosts: {{values: \
             [{{name: a}}]}}\n  template: {{bootMACAddress: '52:54', network: {network}}}\n"
        ),
    ];
    for shape in shapes {
        let input = input::read(shape.as_bytes());
        assert!(input.hosts.is_empty(), "an image could be made: {shape}");
        let report = convert(input).report;
        let errors: Vec<_> =
            report.findings().iter().filter(|finding| finding.severity.to_string() == "error").collect();
        let codes: BTreeSet<_> = errors.iter().map(|finding| finding.code).collect();
        assert!(codes.contains("invalid-value") && codes.contains("nmstate-schema"), "{shape}\n{}", lines(&report));
    }
}
