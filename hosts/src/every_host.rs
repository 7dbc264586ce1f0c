//! Converts every host of an input once, and checks each host by itself and against the others.

mod each;

use std::collections::BTreeMap;

pub use each::{EachHost, OneHost};

use crate::check::{self, CheckedHost, Comparison};
use crate::input::{self, ChooseError, Described, Input};
use crate::network::{self, Attempt, ConvertedNetwork, Target};
use crate::parallel;
use vocabulary::host::{Cluster, HostSpec};
use vocabulary::report::{DocumentPath, NetworkFormat, Repeated, Report};

/// How many hosts a thread converts at a time.
const HOSTS_AT_ONCE: usize = 16;

/// The result of converting an input.
#[derive(Debug, Default)]
pub struct Converted {
    /// The hosts in the order of the input, each with its network; none where the report has an error about it.
    pub hosts: Vec<(HostSpec, Option<ConvertedNetwork>)>,
    /// The cluster of the hosts, if the documents describe one.
    pub cluster: Option<Cluster>,
    /// The findings: about the documents, about each host in their order, and about the hosts together.
    pub report: Report,
}

/// A host of an input, converted.
#[derive(Debug)]
pub struct ConvertedHost {
    /// The host.
    pub host: HostSpec,
    /// Its network; there exactly when the findings have no errors.
    pub network: Option<ConvertedNetwork>,
    /// The findings about this host.
    pub findings: Report,
}

/// Every host of an input, converted, with the findings about each kept apart for callers that want one of them.
#[derive(Debug)]
pub struct EveryHost {
    hosts: Vec<ConvertedHost>,
    /// The findings about the networks of hosts whose documents have errors, by where these describe the hosts.
    flawed: Vec<(DocumentPath, Report)>,
    cluster: Option<Cluster>,
    target: Target,
    documents: Report,
    described: Described,
    together: Comparison,
}

/// Converts every host of an input to keyfiles, and checks the hosts against each other and against their cluster.
pub fn convert(input: Input) -> Converted {
    EveryHost::convert(input, Target::default()).into_converted()
}

impl EveryHost {
    /// Converts every host of an input for its system, and checks the hosts against each other and against their cluster.
    ///
    /// These last checks leave out hosts whose network dayone cannot read. The same input gives the same findings in the
    /// same order, on any number of threads.
    pub fn convert(input: Input, target: Target) -> Self {
        let Input { hosts, flawed, cluster, report: documents, described, .. } = input;
        let attempt = |host: &HostSpec| network::attempt(host, target);
        let attempts = parallel::each(&hosts, HOSTS_AT_ONCE, attempt);
        let findings = parallel::each(&flawed, HOSTS_AT_ONCE, |host| attempt(host).1);
        let flawed = flawed.into_iter().map(|host| host.paths.host).zip(findings).collect();
        let together = check_fleet(&hosts, &attempts, cluster.as_ref(), is_complete(&documents));
        let attempts = hosts.into_iter().zip(attempts);
        let hosts = attempts.map(|(host, (attempt, findings))| ConvertedHost { host, network: attempt.ok(), findings });
        Self { hosts: hosts.collect(), flawed, cluster, target, documents, described, together }
    }

    /// The hosts with all findings in one report.
    pub fn into_converted(self) -> Converted {
        let Self { hosts, flawed, cluster, target, documents: mut report, described: _, together } = self;
        report.append(target.findings());
        let mut repeated = Repeated::default();
        let mut converted = Vec::with_capacity(hosts.len());
        for ConvertedHost { host, network, findings } in hosts {
            repeated.add(&mut report, findings);
            converted.push((host, network));
        }
        for (_, findings) in flawed {
            repeated.add(&mut report, findings);
        }
        repeated.count(&mut report);
        report.append(together.report);
        Converted { hosts: converted, cluster, report }
    }

    /// Takes the findings about the documents and about the hosts together out. Who makes an image of one host needs these,
    /// but not the findings about the other hosts.
    pub fn take_common_findings(&mut self) -> Report {
        let mut report = std::mem::take(&mut self.documents);
        report.append(std::mem::take(&mut self.together.report));
        report
    }

    /// Whether there is no host.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The hosts, in the order of the input.
    pub fn into_hosts(self) -> Vec<ConvertedHost> {
        self.hosts
    }

    /// The only host, or the one called `name`: by what the documents call it, else by its host name, else by one of its MAC
    /// addresses, which every host has that an agent-config describes.
    pub fn choose(self, name: Option<&str>) -> Result<ConvertedHost, ChooseError> {
        input::choose(self.hosts, |host| &host.host, name)
    }
}

/// Whether dayone has read all hosts that the documents describe.
fn is_complete(report: &Report) -> bool {
    const LEFT_OUT: [&str; 2] = ["host-without-network", "network-secret-not-named"];
    !report.has_errors() && !report.findings().iter().any(|finding| LEFT_OUT.contains(&finding.code))
}

/// Checks the hosts that dayone could read against each other. `is_complete` says that the documents hold no others.
fn check_fleet(
    hosts: &[HostSpec],
    attempts: &[(Attempt<ConvertedNetwork>, Report)],
    cluster: Option<&Cluster>,
    is_complete: bool,
) -> Comparison {
    let checked: Vec<_> = hosts
        .iter()
        .zip(attempts)
        .filter_map(|(host, (network, _))| match network {
            Ok(ConvertedNetwork { topology, .. }) => Some(CheckedHost { host, topology }),
            Err(Some(topology)) => Some(CheckedHost { host, topology }),
            Err(None) => None,
        })
        .collect();
    let all_read = is_complete && checked.len() == hosts.len();
    let mut together = check::fleet(&checked, cluster, all_read);
    note_formats(hosts, &mut together.report);
    together
}

/// Notes of each finding the format of the network that it is about.
fn note_formats(hosts: &[HostSpec], report: &mut Report) {
    let networks = hosts.iter().filter_map(|host| host.network.as_nmstate());
    let formats: BTreeMap<&DocumentPath, NetworkFormat> =
        networks.filter_map(|document| Some((&document.path, document.origins.format()?))).collect();
    for finding in report.findings_mut() {
        finding.format = finding.path.tops().find_map(|top| formats.get(top).copied());
    }
}
