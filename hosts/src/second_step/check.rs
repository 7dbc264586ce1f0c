//! Checks documents of the second step, by themselves and against the first step.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::bridge;
use super::compare::{self, SecondNetwork};
use super::{FirstStep, SecondStepDocument, ShortName, Target};
use crate::model::{Interface, Topology, from_nmstate};
use crate::network::{self, ConvertedNetwork, engine};
use crate::nmstate_document::{self as document, aliases, interfaces};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Report, Severity};

/// How many hosts without a document a finding names besides the first.
const NAMED: usize = 8;

/// Checks documents by themselves, and against the first step of their hosts.
pub fn check(documents: &[SecondStepDocument], first_step: &FirstStep) -> Report {
    let mut report = Report::new();
    let hosts: Vec<(&HostSpec, Option<ShortName>)> =
        first_step.hosts.iter().map(|host| (host, ShortName::of(host))).collect();
    // They have no network to compare with, and use the documents all the same.
    let without_network: Vec<Option<ShortName>> =
        first_step.without_network.iter().map(ShortName::of_host_without_network).collect();
    let mut own: BTreeMap<&ShortName, usize> = BTreeMap::new();
    for (host, name) in &hosts {
        if let Some(name) = name {
            *own.entry(name).or_default() += 1;
            if own.get(name) == Some(&2) {
                let message = format!("belongs to a second host whose name up to the first dot is {name}");
                report.error("second-step-same-file", &host.network.path(), message);
            }
        }
    }
    let documented = |name: &ShortName| documents.iter().any(|document| document.target == Target::Host(name.clone()));
    for document in documents {
        let second = check_one(&document.network, &mut report);
        let is_for = |name: &Option<ShortName>| match (&document.target, name) {
            (Target::Host(own), Some(name)) => own == name,
            (Target::Cluster, name) => !name.as_ref().is_some_and(documented),
            (Target::Host(_), None) => false,
        };
        let concerned: Vec<&HostSpec> = hosts.iter().filter(|(_, name)| is_for(name)).map(|(host, _)| *host).collect();
        let others = without_network.iter().filter(|name| is_for(name)).count();
        let any_host = !hosts.is_empty() || !without_network.is_empty();
        if concerned.is_empty() && others == 0 && any_host && document.target != Target::Cluster {
            let message = format!("is for {}, which is not in the first step: no host would use it", document.target);
            report.warning("second-step-host-not-in-first-step", &document.network.path, message);
        }
        let Some(second) = second else { continue };
        if document.target == Target::Cluster {
            check_cluster(&second, concerned.len() + others, &mut report);
        }
        for host in concerned {
            if let Some(first) = first_network(host, &mut report) {
                compare::check(host, &first, &second, &mut report);
            }
        }
    }
    if !documents.iter().any(|document| document.target == Target::Cluster) {
        let is_missing = |name: &Option<ShortName>| name.as_ref().is_none_or(|name| !documented(name));
        let without: Vec<&HostSpec> =
            hosts.iter().filter(|(_, name)| is_missing(name)).map(|(host, _)| *host).collect();
        missing(&without, &mut report);
    }
    report
}

/// Warns once about all hosts without a document, because nearly all hosts may lack one on purpose.
fn missing(hosts: &[&HostSpec], report: &mut Report) {
    let Some((first, others)) = hosts.split_first() else { return };
    let mut further = String::new();
    if !others.is_empty() {
        let names = others.iter().take(NAMED).map(|host| host.name.as_deref().unwrap_or("one without a name"));
        let names: Vec<&str> = names.collect();
        let rest = if others.len() > NAMED { ", …" } else { "" };
        further = format!("; the same applies to {} more ({}{rest})", others.len(), names.join(", "));
    }
    let message = format!(
        "belongs to a host without a document for the second step: OpenShift's own script creates its br-ex{further}"
    );
    report.warning("second-step-missing", &first.network.path(), message);
}

/// Converts the network of the first step and reports its errors. `dayone check` reports the warnings.
pub(super) fn first_network(host: &HostSpec, report: &mut Report) -> Option<ConvertedNetwork> {
    let (network, findings) = network::convert(host);
    for finding in findings.findings().iter().filter(|finding| finding.severity == Severity::Error) {
        report.error(finding.code, &finding.path, finding.message.clone());
    }
    network
}

fn check_one(network: &NmstateDocument, report: &mut Report) -> Option<SecondNetwork> {
    let network = aliases::resolve(network);
    let mut findings = Report::new();
    let second = read(&network, &mut findings).filter(|_| !findings.has_errors());
    report.append(findings.at_origins(&network.origins));
    second
}

fn read(network: &NmstateDocument, report: &mut Report) -> Option<SecondNetwork> {
    let NmstateDocument { value, path, origins } = network;
    let values = document::check(value, path, report);
    if report.has_errors() {
        return None;
    }
    let Value::Mapping(map) = value else {
        report.error("document-not-a-mapping", path, "is not an NMState document: it has no interfaces");
        return None;
    };
    for key in ["capture", "desiredState"] {
        if map.contains_key(key) {
            let message = "belongs to nmpolicy, which needs the live state of a node, so dayone cannot know its \
                           result; write the interfaces out at the top of the document";
            report.error("nmpolicy", &path.key(key), message);
        }
    }
    if report.has_errors() {
        return None;
    }
    let uplinks = bridge::check(map, path, report);
    if report.has_errors() {
        return None;
    }
    engine::convert(&Value::Mapping(without_copied_macs(map)), values, path, report)?;
    Some(SecondNetwork { uplinks, topology: topology(map, path).at_origins(origins), path: path.clone() })
}

/// Removes what needs a live system: only that knows the MAC addresses to copy.
fn without_copied_macs(document: &Mapping) -> Mapping {
    changed(document, |interface| {
        interface.remove("copy-mac-from");
        interface.entry("type".into()).or_insert_with(|| "ethernet".into());
    })
}

/// Reads the document into the model. The model has no Open vSwitch, so this leaves out the bridge, and treats its interface as
/// a dummy interface with addresses.
fn topology(document: &Mapping, path: &DocumentPath) -> Topology {
    let read = changed(&without_copied_macs(document), |interface| {
        let kind = interface.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "ovs-bridge" {
            interface.insert("state".into(), "ignore".into());
        } else if kind == "ovs-interface" {
            interface.insert("type".into(), "dummy".into());
        }
    });
    let interfaces = interfaces::read(&read, path, &mut Report::new());
    from_nmstate::read(&read, &interfaces, None, path)
}

fn changed(document: &Mapping, change: impl Fn(&mut Mapping)) -> Mapping {
    let mut document = document.clone();
    let interfaces = document.get_mut("interfaces").and_then(Value::as_sequence_mut);
    interfaces.into_iter().flatten().filter_map(Value::as_mapping_mut).for_each(change);
    document
}

/// Reports addresses in a document for all hosts, which would all get them.
fn check_cluster(second: &SecondNetwork, hosts: usize, report: &mut Report) {
    let addresses = second.topology.interfaces.iter().flat_map(Interface::addresses);
    for address in addresses {
        let message = format!("is {}, and the document is for all hosts", address.network);
        if hosts > 1 {
            let message =
                format!("{message}: {hosts} hosts would have the same address; write one document for each host");
            report.error("second-step-shared-address", &address.path, message);
        } else if hosts == 0 {
            let message = format!("{message}: if there are several, they would have the same address");
            report.warning("second-step-shared-address", &address.path, message);
        }
    }
}
