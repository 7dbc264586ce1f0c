//! All hosts of an input: each converted, once, and checked by itself and against the others.

use crate::check::{self, CheckedHost};
use crate::input::{self, ChooseError, Input};
use crate::network::{self, Attempt, ConvertedNetwork, Target};
use crate::parallel;
use vocabulary::host::{Cluster, HostSpec};
use vocabulary::report::{Repeated, Report};

/// How many hosts a thread converts at a time.
const HOSTS_AT_ONCE: usize = 16;

/// What was made of an input.
#[derive(Debug, Default)]
pub struct Converted {
    /// The hosts in the order of the input, each with its network; none where the report has an error about it.
    pub hosts: Vec<(HostSpec, Option<ConvertedNetwork>)>,
    /// The cluster that they are of, where the documents say.
    pub cluster: Option<Cluster>,
    /// What the user should know: of the documents, of each host in their order, and of the hosts together.
    pub report: Report,
}

/// A host of an input, and what was made of it.
#[derive(Debug)]
pub struct ConvertedHost {
    /// The host.
    pub host: HostSpec,
    /// Its network; there exactly when the findings have no errors.
    pub network: Option<ConvertedNetwork>,
    /// What the user should know of this host.
    pub findings: Report,
}

/// Every host of an input, converted, with what is found about each kept apart: for who wants one of them.
#[derive(Debug)]
pub struct EveryHost {
    hosts: Vec<ConvertedHost>,
    flawed: Vec<Report>,
    cluster: Option<Cluster>,
    target: Target,
    documents: Report,
    together: Report,
}

/// Converts every host of an input to keyfiles, and checks the hosts against each other and against what is said of their
/// cluster.
pub fn convert(input: Input) -> Converted {
    EveryHost::convert(input, Target::default()).into_converted()
}

impl EveryHost {
    /// Converts every host of an input for what their system takes, and checks the hosts against each other and against
    /// what is said of their cluster.
    ///
    /// Hosts whose network cannot be read are left out of the latter. The same input gives the same findings in the same
    /// order, on however many threads.
    pub fn convert(input: Input, target: Target) -> Self {
        let Input { hosts, flawed, cluster, report: documents } = input;
        let attempt = |host: &HostSpec| network::attempt(host, target);
        let attempts = parallel::each(&hosts, HOSTS_AT_ONCE, attempt);
        let flawed = parallel::each(&flawed, HOSTS_AT_ONCE, |host| attempt(host).1);
        let together = check_fleet(&hosts, &attempts, cluster.as_ref(), is_complete(&documents));
        let attempts = hosts.into_iter().zip(attempts);
        let hosts = attempts.map(|(host, (attempt, findings))| ConvertedHost { host, network: attempt.ok(), findings });
        Self { hosts: hosts.collect(), flawed, cluster, target, documents, together }
    }

    /// What there is to say of all that was found: of each host, too.
    pub fn into_converted(self) -> Converted {
        let Self { hosts, flawed, cluster, target, documents: mut report, together } = self;
        report.append(target.findings());
        let mut repeated = Repeated::default();
        let mut converted = Vec::with_capacity(hosts.len());
        for ConvertedHost { host, network, findings } in hosts {
            repeated.add(&mut report, findings);
            converted.push((host, network));
        }
        for findings in flawed {
            repeated.add(&mut report, findings);
        }
        repeated.count(&mut report);
        report.append(together);
        Converted { hosts: converted, cluster, report }
    }

    /// What there is to say of the documents and of the hosts together, and nothing of a host by itself: of an image that is
    /// for one of them this is to be known; what is wrong with the others is not. It is taken out.
    pub fn take_common_findings(&mut self) -> Report {
        let mut report = std::mem::take(&mut self.documents);
        report.append(std::mem::take(&mut self.together));
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

/// Whether all hosts that the documents describe were read: of one that was left out nothing is known.
fn is_complete(report: &Report) -> bool {
    const LEFT_OUT: [&str; 2] = ["host-without-network", "network-secret-not-named"];
    !report.has_errors() && !report.findings().iter().any(|finding| LEFT_OUT.contains(&finding.code))
}

/// Checks those hosts against each other that could be read; `is_complete` says that the documents hold no others.
fn check_fleet(
    hosts: &[HostSpec],
    attempts: &[(Attempt<ConvertedNetwork>, Report)],
    cluster: Option<&Cluster>,
    is_complete: bool,
) -> Report {
    let mut report = Report::new();
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
    check::fleet(&checked, cluster, all_read, &mut report);
    report
}
