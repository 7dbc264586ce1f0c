//! Users' documents and what is read from them, against `fixtures/inputs`. `UPDATE_GOLDEN=1` rewrites the golden files.

mod merge_order;
mod odd_values;
mod old_booleans;

use std::fs;
use std::path::{Path, PathBuf};

use hosts::input::{Input, Text, read, read_all, read_bmcs};
use proptest::prelude::*;
use serde_json::json;
use vocabulary::host::{BootMode, Cluster};

/// The folders of documents that give hosts.
const GOOD: [&str; 10] = [
    "nmstate",
    "bare-metal-host",
    "network-config",
    "network-data",
    "install-config",
    "agent-config",
    "nmstate-config",
    "node-network-policy",
    "site-config",
    "joined",
];

fn inputs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/inputs").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        ![".hosts.json", ".cluster.json", ".findings"].iter().any(|end| name.ends_with(end))
    });
    paths.sort();
    paths
}

fn findings(input: &Input) -> String {
    input.report.findings().iter().map(|finding| format!("{}: {finding}\n", finding.severity)).collect()
}

fn hosts(input: &Input) -> String {
    let hosts: Vec<_> = input
        .hosts
        .iter()
        .map(|host| {
            let mut json = json!({
                "name": host.name,
                "hostname": host.hostname,
                "boot_mac": host.boot_mac.map(|mac| mac.to_string()),
                "architecture": host.architecture,
                "path": host.network.path().to_string(),
                "network": host.network.as_nmstate().map(|document| &document.value),
            });
            if let Some(bmc) = &host.bmc {
                json["bmc"] = json!({
                    "address": bmc.address,
                    "credentials": bmc.credentials.as_ref().map_or_else(ToString::to_string, |read| {
                        format!("{}, {} characters", read.username, read.password.len())
                    }),
                    "disable_certificate_verification": bmc.disable_certificate_verification,
                });
            }
            if let Some(boot_mode) = host.boot_mode {
                json["boot_mode"] = json!(boot_mode);
            }
            if let Some(role) = &host.role {
                json["role"] = json!(role);
            }
            if !host.nics.is_empty() {
                let nics = host.nics.iter().map(|nic| json!([nic.name, nic.mac.to_string(), nic.path]));
                json["nics"] = nics.collect();
            }
            json
        })
        .collect();
    serde_json::to_string_pretty(&hosts).unwrap() + "\n"
}

fn cluster(cluster: &Cluster) -> String {
    let json = json!({
        "name": cluster.name,
        "path": cluster.path,
        "machine_networks":
            cluster.machine_networks.iter().map(|(net, path)| json!([net.to_string(), path])).collect::<Vec<_>>(),
        "virtual_ips": cluster.virtual_ips.iter().map(|vip| json!([vip.role.to_string(), vip.address, vip.path])).collect::<Vec<_>>(),
        "rendezvous_ip": cluster.rendezvous_ip,
    });
    serde_json::to_string_pretty(&json).unwrap() + "\n"
}

fn check(path: &Path, extension: &str, actual: &str) {
    let golden = path.with_extension(extension);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, actual).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
    assert_eq!(actual, expected, "{}", path.display());
}

#[test]
fn good_documents_give_their_hosts() {
    for path in GOOD.into_iter().flat_map(inputs) {
        let input = read(&fs::read(&path).unwrap());
        assert!(!input.report.has_errors(), "{}: {}", path.display(), findings(&input));
        assert!(!format!("{input:?}").contains("hunter2"), "{}", path.display());
        check(&path, "hosts.json", &hosts(&input));
        if let Some(found) = &input.cluster {
            check(&path, "cluster.json", &cluster(found));
        }
        let warnings = findings(&input);
        if !warnings.is_empty() || path.with_extension("findings").exists() {
            check(&path, "findings", &warnings);
        }
    }
}

#[test]
fn bad_documents_give_their_findings() {
    for path in inputs("invalid") {
        let input = read(&fs::read(&path).unwrap());
        assert!(input.report.has_errors(), "{}", path.display());
        let text = findings(&input);
        assert!(
            !text.contains("hunter2") && !format!("{input:?}").contains("hunter2"),
            "{} shows what a Secret holds: {text}",
            path.display()
        );
        check(&path, "findings", &text);
    }
}

#[test]
fn scenarios_from_the_field_give_a_host_without_a_word() {
    for path in inputs("../scenarios") {
        let name = path.file_name().unwrap().to_str().unwrap();
        // That one is for after the installation.
        if name != "br-ex-second-step.yaml" {
            let input = read(&fs::read(&path).unwrap());
            let count = if name.ends_with("-install-config.yaml") { 2 } else { 1 };
            assert_eq!((input.hosts.len(), findings(&input).as_str()), (count, ""), "{name}");
        }
    }
}

#[test]
fn all_ways_of_writing_a_host_are_the_same_host() {
    let all = inputs("bare-metal-host");
    let same: Vec<&PathBuf> =
        all.iter().filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("same-")).collect();
    assert!(same.len() > 4);
    let hosts_of = |text: &[u8]| {
        let hosts = read(text).hosts;
        hosts
            .into_iter()
            .map(|host| (host.name, host.boot_mac, host.network.as_nmstate().unwrap().value.clone()))
            .collect::<Vec<_>>()
    };
    let expected = hosts_of(&fs::read(same[0]).unwrap());
    for path in &same {
        let text = fs::read(path).unwrap();
        assert_eq!(hosts_of(&text), expected, "{}", path.display());
        // As Windows PowerShell writes what a command prints.
        if let Ok(text) = str::from_utf8(&text) {
            let utf_16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert_eq!(hosts_of(&utf_16), expected, "{}", path.display());
        }
    }
}

#[test]
fn what_cannot_be_a_file_of_text_is_refused() {
    let cases: [(&[u8], &str); 8] = [
        (b"", "error: the input contains no document"),
        (b"\xef\xbb\xbf", "error: the input contains no document"),
        (b"a: \xff", "error: the input is not UTF-8 text: byte 3 (line 1, column 4)"),
        (b"interfaces: []\nb: \0\n", "error: the input contains the control character U+0000 (line 2, column 4)"),
        (b"\xff\xfea", "error: the input has the byte order mark of UTF-16, and is not UTF-16 text"),
        (
            b"interfaces:\n\t- name: eth0\n",
            "error: the input is not YAML: a tab where YAML wants spaces (line 2, column 1)",
        ),
        (
            b"interfaces: !vault x\n",
            "error: interfaces has the YAML tag \"!vault\": Ansible Vault has encrypted the value; decrypt it first",
        ),
        (b"interfaces: !!int hunter2\n", "error: interfaces does not fit its YAML tag"),
    ];
    for (text, expected) in cases {
        let input = read(text);
        assert!(findings(&input).starts_with(expected), "{text:?}: {}", findings(&input));
        assert!(!findings(&input).contains("hunter2") && input.hosts.is_empty());
    }
}

#[test]
fn bombs_are_refused_in_seconds_not_hours() {
    let aliases = format!(
        "a: &a [{}]\nb: &b [{}]\ninterfaces: [{}]\n",
        "1,".repeat(1000),
        "*a,".repeat(1000),
        "*b,".repeat(1000)
    );
    let text = format!("a: &a \"{}\"\ninterfaces: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(100_000));
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  nmstate: |\n";
    let shared = format!("{secret}{}", "    # nothing\n".repeat(100_000));
    let host = |n| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: h{n}}}\n\
             spec: {{preprovisioningNetworkDataName: s}}\n"
        )
    };
    let shared = shared + &(0..10_000).map(host).collect::<String>();
    let bombs = [
        aliases,
        text,
        shared,
        "{a: ".repeat(1 << 20),
        "[".repeat(4 << 20),
        format!("x: {}{}", "{a: ".repeat(450), "1,".repeat(1 << 19)),
        "- ".repeat(1 << 20),
        "interfaces: [[[[\n".repeat(1 << 17),
        (0..100_000).map(|n| format!("%TAG !a{n}! b\n")).collect(),
        "--- 1\n".repeat(100_000),
        // Each of these words is a boolean in YAML 1.1, behind a hundred long keys.
        format!("{}[{}]{}", format!("{{{}: ", "k".repeat(1000)).repeat(100), "no,".repeat(300_000), "}".repeat(100)),
        format!("[{}]", "1,".repeat(1_000_000)),
        "a".repeat((4 << 20) + 1),
    ];
    for bomb in bombs {
        let start = std::time::Instant::now();
        let input = read(bomb.as_bytes());
        assert!(input.report.has_errors() && input.hosts.is_empty(), "{}", &bomb[..40]);
        assert!(start.elapsed().as_secs() < 60, "{:?} for {}", start.elapsed(), &bomb[..40]);
    }
}

fn read_files(texts: &[(&str, &str)]) -> Input {
    read_all(texts.iter().map(|(name, text)| Text { name: Some(name), text: text.as_bytes() }))
}

#[test]
fn several_texts_are_one_set_of_documents() {
    let path = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/inputs/bare-metal-host").join(name);
        fs::read_to_string(path).unwrap()
    };
    let joined = path("same-data.yaml");
    let (first, second) = joined.split_once("\n---\n").unwrap();
    assert_eq!(read_files(&[("a", first), ("b", second)]), read(joined.as_bytes()));
    assert_eq!(read_files(&[("b", second), ("a", first)]).hosts, read(joined.as_bytes()).hosts);
    assert_eq!(read_files(&[("n.yaml", "interfaces: []")]).hosts[0].network.path().to_string(), "n.yaml");
}

#[test]
fn who_drives_a_bmc_needs_no_network() {
    let host = "{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: worker-0}, spec: {bootMode: \
                legacy, bmc: {address: 'redfish://192.0.2.1', credentialsName: bmc-0}}}";
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: bmc-0}, stringData: {username: root, password: x}}";
    let text = |text: &'static str| Text { name: None, text: text.as_bytes() };
    let (bmcs, report) = read_bmcs([text(host), text(secret), text("{interfaces: []}")]);
    assert!(report.is_empty(), "{report:?}");
    let [bmc] = bmcs.as_slice() else { panic!("{bmcs:?}") };
    assert_eq!((bmc.name.as_str(), bmc.boot_mode), ("worker-0", Some(BootMode::Legacy)));
    assert_eq!(bmc.bmc.credentials.as_ref().unwrap().username, "root");
    let (bmcs, report) = read_bmcs([text(host)]);
    assert!(bmcs[0].bmc.credentials.is_err() && !report.has_errors());
    // Thousands of hosts may share a Secret.
    let long = secret.replace("password: x", &format!("password: {}", "x".repeat(2000)));
    let (bmcs, _) = read_bmcs([text(host), Text { name: None, text: long.as_bytes() }]);
    let why = bmcs[0].bmc.credentials.as_ref().unwrap_err();
    assert!(why.0.ends_with("stringData.password is 2000 bytes long; at most 1024 are allowed"), "{why:?}");
    assert!(
        read_bmcs([text("{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: x}}")]).1.has_errors()
    );
}

#[test]
fn findings_name_the_text_that_they_are_about() {
    let nmstate = "interfaces: []\n";
    let input = read_files(&[("a.yaml", nmstate), ("b.yaml", nmstate), ("c.yaml", "a: 1\n---\n7\n")]);
    assert_eq!(
        findings(&input),
        "error: c.yaml: document 2: is a number without quotes; a document is a mapping\n\
         error: b.yaml: is a second NMState document; without names, dayone cannot tell the two hosts apart\n\
         warning: c.yaml: document 1: has neither a kind nor keys of NMState; keys found: a\n"
    );
    let input = read_files(&[("a.yaml", nmstate), ("b.yaml", "a: [")]);
    assert_eq!(input.hosts.len(), 0);
    assert!(findings(&input).starts_with("error: b.yaml: the input "), "{}", findings(&input));
}

#[test]
fn a_kustomization_needs_no_kind() {
    let (list, nmstate) = ("resources: [hosts.yaml]\n", "interfaces: []\n");
    for name in ["kustomization.yaml", "site/kustomization.yml", "site/Kustomization"] {
        let input = read_files(&[("site/hosts.yaml", nmstate), (name, list)]);
        assert_eq!((input.hosts.len(), findings(&input).as_str()), (1, ""), "{name}");
        let alone = read_files(&[(name, list)]);
        assert!(findings(&alone).starts_with("error: the input contains objects that go with hosts"), "{name}");
        // Its name alone does not make a network disappear.
        assert_eq!(read_files(&[(name, nmstate)]).hosts.len(), 1, "{name}");
    }
    let other = read_files(&[("site/hosts.yaml", nmstate), ("site/resources.yaml", list)]);
    assert!(
        findings(&other).starts_with("warning: site/resources.yaml: document 1: has neither a kind"),
        "{}",
        findings(&other)
    );
}

#[test]
fn an_inventory_with_another_name_is_told_what_it_has_to_be_called() {
    for text in ["# ours\n\n[masters]\nm0 v=1\n", "[nodes:children]\nmasters\n", "[all:vars]\r\na=b\r\n"] {
        let input = read_files(&[("web.txt", text)]);
        let expected = "error: web.txt: the input is not YAML, and looks like an Ansible inventory in INI form; give the file a \
                        name that ends in .ini or .inventory\n";
        assert_eq!(findings(&input), expected, "{text}");
    }
    for (text, likeness) in [
        (
            "# ours\n[connection]\nid=eth0\n",
            "a profile of NetworkManager; give the file a name that ends in .nmconnection",
        ),
        ("[Match]\nName=eth0\n", "a file of systemd-networkd, which dayone does not read"),
    ] {
        let expected = format!("error: web.txt: the input is not YAML, and looks like {likeness}\n");
        assert_eq!(findings(&read_files(&[("web.txt", text)])), expected);
    }
    for text in ["[1, 2]\na\n", "[a b]\nc\n", "a: [\n[b]\n"] {
        assert!(!findings(&read_files(&[("web.txt", text)])).contains("Ansible"), "{text}");
    }
}

/// A good document with pieces cut out, doubled or replaced.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let good: Vec<Vec<u8>> = ["nmstate", "bare-metal-host", "network-config", "network-data"]
        .into_iter()
        .flat_map(inputs)
        .map(|path| fs::read(path).unwrap())
        .collect();
    let edit = (any::<prop::sample::Index>(), 0..40_usize, "[-\\[\\]{}:,&*a!'\"|>#%\n\t 0]{0,6}");
    (prop::sample::select(good), prop::collection::vec(edit, 1..6)).prop_map(|(mut text, edits)| {
        for (at, length, by) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, by.bytes());
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let input = read(&text);
        prop_assert!(!input.hosts.is_empty() || input.report.has_errors());
    }

    #[test]
    fn mutated_documents_give_a_host_or_a_finding(text in mutated()) {
        let input = read(&text);
        prop_assert!(!input.hosts.is_empty() || !input.report.is_empty());
        for finding in input.report.findings() {
            prop_assert!(!finding.to_string().contains('\n'));
            // Keys are shown, so what a mutation has made one of does not count.
            let quoted = finding.message.contains("key");
            prop_assert!(quoted || !finding.to_string().contains("hunter2"), "{}", finding);
        }
    }
}
