//! Every host of an input with what concerns it, for callers that make something of each host that has no errors.

use std::collections::{BTreeMap, BTreeSet};

use super::{ConvertedHost, EveryHost};
use crate::network::ConvertedNetwork;
use vocabulary::host::HostSpec;
use vocabulary::report::{DocumentPath, Report, Severity};

/// How many hosts get the same error about a network that they share, if they have others. Thousands of hosts may name one Secret.
const HOSTS_OF_AN_ERROR: usize = 100;

/// Every host that the documents describe, in their order.
#[derive(Debug)]
pub struct EachHost {
    /// The hosts.
    pub hosts: Vec<OneHost>,
    /// The findings that are not about a single host, and those about hosts that share their findings.
    pub common: Report,
    /// Whether `common` has errors that may concern every host. Then nothing can be made of any host.
    pub is_refused: bool,
}

/// A host that the documents describe.
#[derive(Debug)]
pub struct OneHost {
    /// The host's name in the documents.
    pub name: Option<String>,
    /// The host and its network, if no error is about it.
    pub converted: Option<(HostSpec, ConvertedNetwork)>,
    /// The findings about it. A refused host has none if it shares its error with hosts that findings name.
    pub findings: Report,
}

impl EveryHost {
    /// The hosts, each with the findings about it. A host has its network if no error is about it: neither in its documents nor
    /// in its network, nor a conflict with another host or with its cluster.
    pub fn into_each(self) -> EachHost {
        let Self { hosts, flawed, target, documents, described, together, .. } = self;
        let is_refused = described.has_other_errors || together.has_other_errors();
        let mut each = Vec::with_capacity(described.hosts.len());
        let (mut is_shared, mut given) = (false, Given::default());
        let mut flawed: BTreeMap<_, _> = flawed.into_iter().collect();
        // The hosts that dayone could read are in the same order.
        let mut hosts = hosts.into_iter().peekable();
        for host in &described.hosts {
            let mut findings = documents.at(&host.errors);
            let converted = hosts.next_if(|converted| converted.host.paths.host == host.path);
            let conflicts = together.in_error.get(&host.path);
            let converted = if let Some(ConvertedHost { host: spec, network, findings: own }) = converted {
                given.append(own, &mut findings);
                network.map(|network| (spec, network))
            } else {
                given.append(flawed.remove(&host.path).unwrap_or_default(), &mut findings);
                None
            };
            if let Some(conflicts) = conflicts {
                findings.append(together.report.at(&conflicts.iter().copied().collect::<Vec<_>>()));
            }
            let converted = converted.filter(|_| !host.is_refused && conflicts.is_none());
            is_shared |= converted.is_none() && !findings.has_errors();
            each.push(OneHost { name: host.name.clone(), converted, findings });
        }
        // An input that was not read from documents does not describe its hosts.
        each.extend(hosts.map(|ConvertedHost { host, network, findings }| OneHost {
            name: host.name.clone(),
            converted: network.map(|network| (host, network)),
            findings,
        }));
        let (mut documents, mut together, in_error) = (documents, together.report, together.in_error);
        if !is_shared {
            let of_hosts = described.hosts.iter().flat_map(|host| host.errors.iter().copied());
            leave_out(&mut documents, &of_hosts.collect());
            leave_out(&mut together, &in_error.into_values().flatten().collect());
        }
        documents.append(together);
        documents.append(target.findings());
        EachHost { hosts: each, common: documents, is_refused }
    }
}

/// How many hosts have got each error.
#[derive(Default)]
struct Given(BTreeMap<(DocumentPath, String), usize>);

impl Given {
    /// Adds the findings about a host's network to those about the host. Leaves out errors that enough hosts have, but not the only one.
    fn append(&mut self, mut own: Report, findings: &mut Report) {
        let mut has_error = findings.has_errors();
        own.retain(|finding| {
            if finding.severity != Severity::Error {
                return true;
            }
            let hosts = self.0.entry((finding.path.clone(), finding.message.clone())).or_default();
            *hosts += 1;
            let stays = *hosts <= HOSTS_OF_AN_ERROR || !has_error;
            has_error |= stays;
            stays
        });
        findings.append(own);
    }
}

/// Removes the findings at these indices.
fn leave_out(report: &mut Report, indices: &BTreeSet<usize>) {
    let mut index = 0;
    report.retain(|_| {
        index += 1;
        !indices.contains(&(index - 1))
    });
}

impl EachHost {
    /// Calls `change` once with all findings in one report. It may change findings, but neither add nor remove any.
    pub fn with_all_findings(&mut self, change: impl FnOnce(&mut Report)) {
        let mut all = std::mem::take(&mut self.common);
        let mut starts = Vec::with_capacity(self.hosts.len());
        for host in &mut self.hosts {
            starts.push(all.findings().len());
            all.append(std::mem::take(&mut host.findings));
        }
        change(&mut all);
        for (host, start) in self.hosts.iter_mut().zip(starts).rev() {
            host.findings = all.split_off(start);
        }
        self.common = all;
    }
    /// Returns all findings.
    pub fn into_report(self) -> Report {
        let mut report = self.common;
        for host in self.hosts {
            report.append(host.findings);
        }
        report
    }
}
