//! Keyfiles as input: they go in as they are, and what dayone writes itself it takes as well.

use std::fs;
use std::path::{Path, PathBuf};

use hosts::input::{self, Text};
use hosts::network::{ConvertedNetwork, convert};
use vocabulary::report::Report;

fn fixtures(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(path)
}

/// The keyfiles in a directory, under `prefix`.
fn keyfiles(directory: &Path, prefix: &str) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "nmconnection"));
    let name = |path: &Path| format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
    let mut files: Vec<_> = files.map(|path| (name(&path), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

fn read(files: &[(String, Vec<u8>)]) -> input::Input {
    input::read_all(files.iter().map(|(name, text)| Text { name: Some(name), text }))
}

fn network(input: &input::Input) -> (ConvertedNetwork, Report) {
    let [host] = input.hosts.as_slice() else { panic!("{:?}", input.report.findings()) };
    let (network, report) = convert(host);
    (network.unwrap_or_else(|| panic!("{:?}", report.findings())), report)
}

#[test]
fn directories_are_hosts_and_their_profiles_are_taken_as_they_are() {
    let mut files = keyfiles(&fixtures("inputs/keyfiles/worker-0"), "fleet/worker-0/");
    files.extend(keyfiles(&fixtures("inputs/keyfiles/worker-1"), "fleet/worker-1/"));
    let input = read(&files);
    assert!(input.report.is_empty(), "{:?}", input.report.findings());
    let names: Vec<_> = input.hosts.iter().map(|host| host.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["worker-0", "worker-1"]);
    let mut taken = Vec::new();
    for host in &input.hosts {
        let (network, report) = convert(host);
        assert!(report.is_empty(), "{:?}", report.findings());
        let network = network.unwrap();
        assert_eq!(network.hostname, host.hostname);
        assert_eq!(network.topology.hostname, host.hostname);
        taken.extend(network.keyfiles.into_iter().map(|file| file.content.into_bytes()));
    }
    assert_eq!(taken, files.into_iter().map(|(_, content)| content).collect::<Vec<_>>());
    let (network, _) = convert(&input.hosts[0]);
    assert_eq!(network.unwrap().topology.ports("bond0").count(), 2);
}

#[test]
fn what_dayone_writes_it_takes() {
    let mut cases = 0;
    for case in fs::read_dir(fixtures("nmstate")).unwrap().map(|case| case.unwrap().path().join("expected")) {
        if !case.is_dir() {
            continue;
        }
        let files = keyfiles(&case, "");
        let (network, _) = network(&read(&files));
        let found: Vec<_> =
            network.keyfiles.into_iter().map(|file| (file.name.to_string(), file.content.into_bytes())).collect();
        assert_eq!(found, files, "{}", case.display());
        cases += 1;
    }
    assert!(cases > 20, "{cases}");
}

#[test]
fn a_host_has_one_network() {
    let profile =
        |name: &str| (name.to_owned(), fs::read(fixtures("inputs/keyfiles/worker-1/uplink.nmconnection")).unwrap());
    let nmstate = ("network.yaml".to_owned(), b"interfaces: [{name: eth0, type: ethernet}]".to_vec());
    let refused = |files: &[(String, Vec<u8>)]| {
        let input = read(files);
        let codes: Vec<_> = input.report.findings().iter().map(|finding| finding.code).collect();
        (input.hosts.len(), codes)
    };
    assert_eq!(refused(&[nmstate.clone(), profile("uplink.nmconnection")]), (1, vec!["nmstate-second-document"]));
    assert_eq!(refused(&[nmstate, profile("worker-1/uplink.nmconnection")]), (2, vec![]));
    assert_eq!(refused(&[("a.nmconnection".to_owned(), vec![0xff])]), (0, vec!["not-utf-8"]));
}

#[test]
fn profiles_of_two_directories_are_never_of_one_host() {
    let profile = fs::read(fixtures("inputs/keyfiles/worker-1/uplink.nmconnection")).unwrap();
    let found = |names: &[&str]| {
        let files: Vec<_> = names.iter().map(|name| ((*name).to_owned(), profile.clone())).collect();
        let input = read(&files);
        let hosts: Vec<_> = input.hosts.iter().map(|host| host.name.clone().unwrap_or_default()).collect();
        (hosts.join(" "), input.report.findings().iter().map(|finding| finding.code).collect::<Vec<_>>())
    };
    for nameless in [
        ["kf/worker_0/eno1.nmconnection", "kf/worker_1/eno2.nmconnection"],
        ["a/system-connections/eno1.nmconnection", "eno1.nmconnection"],
    ] {
        assert_eq!(found(&nameless), (String::new(), vec!["nmstate-second-document"]), "{nameless:?}");
    }
    let places =
        ["a", "b"].map(|host| format!("worker-{host}/etc/NetworkManager/system-connections/eno0.nmconnection"));
    assert_eq!(found(&[&places[0], &places[1]]), ("worker-a worker-b".to_owned(), vec![]));
    let one_name = ["a/w0/eno1.nmconnection", "b/w0/eno2.nmconnection"];
    assert_eq!(found(&one_name), ("w0".to_owned(), vec!["host-twice"]));
    assert_eq!(found(&["w0/eno1.nmconnection", "./w0/eno2.nmconnection"]), ("w0".to_owned(), vec![]));
}

/// As with NMState: what is wrong with one host by itself hides nothing of what is wrong between it and others.
#[test]
fn a_host_with_errors_is_compared_with_others_even_so() {
    let profile = |gateway: &str| {
        let content = format!(
            "[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=manual\n\
             address1=192.0.2.10/24,{gateway}\n[ipv6]\nmethod=disabled\n"
        );
        content.into_bytes()
    };
    let files = [("a", "192.0.2.1"), ("b", "203.0.113.1")];
    let files = files.map(|(host, gateway)| (format!("fleet/{host}/eth0.nmconnection"), profile(gateway)));
    let report = hosts::every_host::convert(read(&files)).report;
    let codes: Vec<&str> = report.findings().iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["gateway-off-link", "address-of-two-hosts"], "{:?}", report.findings());
}
