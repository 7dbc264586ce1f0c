//! The documents that nmstate publishes, against `nmstatectl gc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::Path;

use acceptance::libnm::problems;
use acceptance::peers::{cache, peer};
use hosts::network::convert;
use serde_yaml::{Mapping, Value};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Severity};

/// A published document, or an interface that a document was made of.
struct Document {
    name: String,
    value: Value,
}

fn documents() -> Vec<Document> {
    let root = cache().join("nmstate-documents-2.2.62");
    assert!(root.exists(), "{} is missing; run scripts/setup-peers.sh", root.display());
    let mut documents = Vec::new();
    for path in files(&root) {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let content = fs::read_to_string(&path).unwrap();
        if name.ends_with(".rs") {
            for (number, text) in raw_strings(&content).into_iter().enumerate() {
                documents.extend(document(format!("{name}#{number}"), text));
            }
        } else {
            documents.extend(document(name, &content));
        }
    }
    documents.sort_by(|a, b| a.name.cmp(&b.name));
    let mut seen = BTreeSet::new();
    documents.retain(|document| seen.insert(serde_yaml::to_string(&document.value).unwrap()));
    documents
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// What stands between `r"` or `r#"` and its end, in a file of Rust.
fn raw_strings(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(position) = rest.find("r\"").into_iter().chain(rest.find("r#\"")).min() {
        let (start, end) = if rest[position..].starts_with("r#") { (3, "\"#") } else { (2, "\"") };
        rest = &rest[position + start..];
        let Some((text, behind)) = rest.split_once(end) else { break };
        found.push(text);
        rest = behind;
    }
    found
}

/// Tests have single interfaces, routes and rules as well.
fn document(name: String, text: &str) -> Option<Document> {
    let value: Value = serde_yaml::from_str(text).ok()?;
    let interfaces = |list: Value| Value::Mapping(Mapping::from_iter([("interfaces".into(), list)]));
    let is_interface = |value: &Value| value.get("name").is_some_and(Value::is_string) && value.get("type").is_some();
    let known = [
        "interfaces",
        "routes",
        "route-rules",
        "dns-resolver",
        "hostname",
        "capture",
        "desiredState",
        "desired",
        "ovs-db",
        "ovn",
    ];
    let value = match &value {
        Value::Sequence(list) if !list.is_empty() && list.iter().all(is_interface) => interfaces(value),
        _ if is_interface(&value) => interfaces(Value::Sequence(vec![value])),
        Value::Mapping(mapping) if known.iter().any(|key| mapping.contains_key(*key)) => value,
        _ => return None,
    };
    Some(Document { name, value })
}

fn theirs(document: &Value) -> Result<BTreeMap<String, String>, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(serde_yaml::to_string(document).unwrap().as_bytes()).unwrap();
    let output = peer("nmstatectl").arg("gc").arg(file.path()).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let all: BTreeMap<String, Vec<(String, String)>> = serde_yaml::from_slice(&output.stdout).unwrap();
    Ok(all.into_values().flatten().collect())
}

/// Documents that dayone refuses and nmstatectl does not: what for. A host could not come up of them.
const REFUSED: &[(&str, &str)] = &[
    ("address-duplicate", "one address on two interfaces"),
    ("address-lost", "addresses with a lifetime, as a running system reports them, which nmstate drops"),
    ("bond-mac-refused", "a MAC address that the kernel does not set, so that NetworkManager gives up"),
    ("bond-without-ports", "no link"),
    ("bridge-port-vlan-lost", "VLANs without a mode, which nmstate leaves out"),
    ("dns-without-address", "NetworkManager refuses the profile"),
    ("gateway-off-link", "a next hop in no network of the host"),
    ("identifier-type", "an address that nmstate drops, so that the profile takes any device"),
    ("interface-duplicate", "nmstate takes one of two"),
    ("interface-name-invalid", "names longer than 15 bytes, and placeholders for captures and SR-IOV functions"),
    ("interface-section-missing", "pairs of interfaces without the other end, as a container sees its own"),
    ("interface-state-unknown", "no profile comes of it"),
    ("interface-type-unsupported", "hsr, ipvlan, IP tunnels, IPsec, XFRM"),
    ("mac-address-unusable", "group addresses, which no NIC can have"),
    ("mptcp", "depends on the machine that converts"),
    ("no-interfaces", "nothing but absent interfaces, a host name, routes: no profile at all"),
    ("openvswitch", "not on day one"),
    ("out-of-range", "NetworkManager refuses the profile"),
    ("route-rule-without-interface", "rules of a family that is nowhere enabled"),
];

/// Documents whose keyfiles are not nmstatectl's, and why.
const DELIBERATE_DIFFERENCES: &[(&str, &str)] =
    &[("unit_tests/identifier.rs#2", "nmstate writes two files of one name, and the first is lost")];

/// What libnm finds wrong with keyfiles.
const KNOWN_PROBLEMS: &[&str] = &["certificate or key file 'file:///etc/pki/802-1x-test/"];

#[test]
fn published_documents_become_the_keyfiles_that_nmstatectl_writes() {
    let mut keyfiles = BTreeMap::new();
    let (mut same, mut only_they) = (0, 0);
    let (mut wrong, mut codes) = (Vec::new(), BTreeSet::new());
    let documents = documents();
    for Document { name, value } in &documents {
        let host = HostSpec::with_network(NmstateDocument::new(value.clone(), DocumentPath::root()));
        let (ours, report) = convert(&host);
        let theirs = theirs(value);
        let Some(ours) = ours else {
            if theirs.is_ok() {
                only_they += 1;
                let errors = report.findings().iter().filter(|finding| finding.severity == Severity::Error);
                let found: BTreeSet<_> = errors.map(|finding| finding.code).collect();
                if !found.iter().all(|code| REFUSED.iter().any(|(known, _)| known == code)) {
                    wrong.push(format!("{name}: refused for {found:?}"));
                }
                codes.extend(found);
            }
            continue;
        };
        let ours: BTreeMap<_, _> =
            ours.keyfiles.into_iter().map(|file| (file.name.to_string(), file.content)).collect();
        let is_same = theirs.as_ref() == Ok(&ours);
        same += usize::from(is_same);
        if is_same == DELIBERATE_DIFFERENCES.iter().any(|(known, _)| known == name) {
            wrong.push(format!("{name}: {ours:#?}, and nmstatectl's {theirs:#?}"));
        }
        keyfiles.extend(ours.into_iter().map(|(file, content)| (format!("{name}/{file}"), content)));
    }
    let problems = problems(&keyfiles);
    wrong.extend(problems.into_iter().filter(|problem| !KNOWN_PROBLEMS.iter().any(|known| problem.contains(known))));
    let stale = REFUSED.iter().filter(|(code, _)| !codes.contains(code));
    wrong.extend(stale.map(|(code, _)| format!("nothing is refused for {code} any longer")));
    let counts = format!("{} documents, {same} the same, {only_they} refused by dayone only", documents.len());
    assert!(wrong.is_empty(), "{counts}\n{}", wrong.join("\n"));
    // Of documents, engine and `nmstatectl` the versions are given: another number is another behaviour of ours.
    assert_eq!((documents.len(), same, only_they), (486, 205, 175));
}

/// Findings about what may well work, and is most often a mistake; and about names that are meant for another one.
const PROBABLY_MISTAKEN: &[&str] = &[
    "bond-min-links",
    "bond-of-one-port",
    "bond-primary-unknown",
    "hostname-localhost",
    "mtu-above-parent",
    "mtu-unusable",
    "route-source-not-own",
    "route-table-without-rule",
    "search-domain-invalid",
    "type-unlike-name",
    "veth-peer",
    "vlan-unlike-name",
];

#[test]
fn published_documents_are_not_taken_for_mistaken() {
    let mut wrong = Vec::new();
    for Document { name, value } in documents() {
        let host = HostSpec::with_network(NmstateDocument::new(value, DocumentPath::root()));
        let report = convert(&host).1;
        wrong.extend(report.findings().iter().filter_map(|finding| {
            let is_misspelt = finding.code == "reference-unknown" && finding.message.contains("is it ");
            let is_mistaken = is_misspelt || PROBABLY_MISTAKEN.contains(&finding.code);
            is_mistaken.then(|| format!("{name}: {}: {finding}", finding.code))
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
