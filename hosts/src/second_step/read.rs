//! Reads the user's texts to documents of the second step, each with its host.

use std::collections::BTreeMap;

use super::{SecondStepDocument, ShortName, Target};
use crate::input::{self, HostWithoutNetwork, Text};
use crate::yaml_text;
use vocabulary::host::{HostName, HostSpec, NetworkDocument, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};

/// A text with documents of the second step.
#[derive(Clone, Copy)]
pub struct SecondStepText<'a> {
    /// The name of the file, without directories. For NMState, only this name determines the host.
    pub file_name: Option<&'a str>,
    /// The text.
    pub text: Text<'a>,
}

/// Reads NMState in files that are named after their hosts, `<host>.yml` or `cluster.yml`, or documents of any other shape that
/// names hosts.
pub fn read<'a>(texts: impl IntoIterator<Item = SecondStepText<'a>>) -> (Vec<SecondStepDocument>, Report) {
    let mut report = Report::new();
    let (bare, others) = divide(texts, &mut report);
    let mut documents = Vec::new();
    for Bare { file_name, network, content } in bare {
        match target(file_name) {
            Ok(target) => documents.push(SecondStepDocument { target, role: None, content, network }),
            Err(message) => report.error("second-step-host-unknown", &network.path, message),
        }
    }
    if !others.is_empty() {
        let input = input::read_all(others);
        report.append(input.report);
        documents.extend(input.hosts.into_iter().filter_map(|host| of_host(host, &mut report)));
    }
    remove_conflicts(&mut documents, &mut report);
    (documents, report)
}

/// The hosts of the first step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FirstStep {
    /// The hosts with their networks.
    pub hosts: Vec<HostSpec>,
    /// The hosts that use DHCP. They get documents of the second step, too.
    pub without_network: Vec<HostWithoutNetwork>,
}

/// Reads the documents of the first step. NMState in a file that is named after a host belongs to that host.
pub fn read_first_step<'a>(texts: impl IntoIterator<Item = SecondStepText<'a>>) -> (FirstStep, Report) {
    let mut report = Report::new();
    let (bare, others) = divide(texts, &mut report);
    let hosts = bare.into_iter().map(|Bare { file_name, network, .. }| {
        let hostname: Option<HostName> = file_name.and_then(|name| stem(name).parse().ok());
        let name = hostname.as_ref().map(HostName::to_string);
        HostSpec { name, hostname, ..HostSpec::with_network(network) }
    });
    let mut first_step = FirstStep { hosts: hosts.collect(), ..FirstStep::default() };
    if others.is_empty() {
        return (first_step, report);
    }
    let mut input = input::read_all(others);
    first_step.hosts.append(&mut input.hosts);
    first_step.without_network = input.without_network;
    report.append(input.report);
    (first_step, report)
}

/// Bare NMState.
struct Bare<'a> {
    file_name: Option<&'a str>,
    network: NmstateDocument,
    content: Vec<u8>,
}

/// Separates bare NMState from other texts.
fn divide<'a>(
    texts: impl IntoIterator<Item = SecondStepText<'a>>,
    report: &mut Report,
) -> (Vec<Bare<'a>>, Vec<Text<'a>>) {
    let (mut bare, mut others) = (Vec::new(), Vec::new());
    for SecondStepText { file_name, text } in texts {
        match input::bare_nmstate(&text, report) {
            Some((network, content)) => bare.push(Bare { file_name, network, content }),
            None => others.push(text),
        }
    }
    (bare, others)
}

/// Returns a file name without its suffixes.
fn stem(file_name: &str) -> &str {
    let name = file_name.strip_suffix(".gz").unwrap_or(file_name);
    [".yml", ".yaml", ".json"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// Returns the hosts that the NMState in a file is for.
fn target(file_name: Option<&str>) -> Result<Target, String> {
    const CALL: &str = "name its file <host>.yml, or cluster.yml for all hosts";
    let Some(name) = file_name else { return Err(format!("is NMState, which names no host: {CALL}")) };
    let stem = stem(name);
    if stem == Target::CLUSTER {
        return Ok(Target::Cluster);
    }
    stem.parse()
        .map(Target::Host)
        .map_err(|error| format!("is NMState in a file that is not named after a host: {error}; {CALL}"))
}

/// Makes the document of a host from its network.
fn of_host(host: HostSpec, report: &mut Report) -> Option<SecondStepDocument> {
    let path = host.network.path();
    let Some(name) = ShortName::of(&host) else {
        let message = "names no host: a document for the second step is for one host, or is cluster.yml";
        report.error("second-step-host-unknown", &path, message);
        return None;
    };
    match host.network {
        NetworkDocument::Nmstate(network) => {
            let content = yaml_text::document(&network.value).into_bytes();
            Some(SecondStepDocument { target: Target::Host(name), role: host.role, content, network })
        }
        NetworkDocument::Keyfiles(_) => {
            let message = "is a keyfile; nmstate applies the second step, and reads only NMState";
            report.error("second-step-keyfiles", &path, message);
            None
        }
    }
}

/// Removes documents whose files on the host would have the same name, which is the host's short name.
fn remove_conflicts(documents: &mut Vec<SecondStepDocument>, report: &mut Report) {
    let mut taken: BTreeMap<Target, DocumentPath> = BTreeMap::new();
    documents.retain(|document| {
        let SecondStepDocument { target, network, .. } = document;
        if let Target::Host(name) = target
            && name.as_str() == Target::CLUSTER
        {
            let message = "is for a host called cluster: every host without a file of its own would use its file";
            report.error("second-step-same-file", &network.path, message);
            return false;
        }
        if let Some(first) = taken.get(target) {
            let message = format!(
                "is for {target}, like {first}: both would be the file {}; a host's file has the part of its name \
                 before the first dot",
                target.file_name()
            );
            report.error("second-step-same-file", &network.path, message);
            return false;
        }
        taken.insert(target.clone(), network.path.clone());
        true
    });
}
