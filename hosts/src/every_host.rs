//! All hosts of an input: converted, and checked each by itself and against each other.

use crate::check::{self, CheckedHost};
use crate::input::Input;
use crate::network::{self, HostNetwork, NetworkManagerVersion};
use crate::parallel;
use crate::topology::Topology;
use vocabulary::host::{Cluster, HostSpec};
use vocabulary::report::{Repeated, Report};

/// How many hosts a thread converts at a time.
const HOSTS_AT_ONCE: usize = 16;

/// What was made of an input.
#[derive(Debug, Default)]
pub struct Converted {
    /// The hosts in the order of the input, each with its network; none where the report has an error about it.
    pub hosts: Vec<(HostSpec, Option<HostNetwork>)>,
    /// The cluster that they are of, where the documents say.
    pub cluster: Option<Cluster>,
    /// What the user should know: of the documents, of each host in their order, and of the hosts together.
    pub report: Report,
}

/// Converts every host of an input, and checks the hosts against each other and against what is said of their cluster.
///
/// Hosts whose network cannot be read are left out of the latter. The same input gives the same findings in the same
/// order, on however many threads.
pub fn convert(input: Input) -> Converted {
    convert_for(input, None)
}

/// [`convert`], for a release of NetworkManager on the hosts, where it is known: [`network::convert_for`].
pub fn convert_for(input: Input, release: Option<NetworkManagerVersion>) -> Converted {
    let Input { hosts, flawed, cluster, mut report } = input;
    let is_complete = is_complete(&report);
    report.append(network::release_findings(release));
    let converted = parallel::each(&hosts, HOSTS_AT_ONCE, |host| network::attempt(host, release));
    let mut networks = Vec::with_capacity(hosts.len());
    let mut repeated = Repeated::default();
    for (network, findings) in converted {
        repeated.add(&mut report, findings);
        networks.push(network);
    }
    for (_, findings) in parallel::each(&flawed, HOSTS_AT_ONCE, |host| network::attempt(host, release)) {
        repeated.add(&mut report, findings);
    }
    repeated.count(&mut report);
    check_fleet(&hosts, &networks, cluster.as_ref(), is_complete, &mut report);
    let networks = networks.into_iter().map(Result::ok);
    Converted { hosts: hosts.into_iter().zip(networks).collect(), cluster, report }
}

/// What is wrong between the hosts of an input, and with what is said of their cluster. Of an image that is for one of
/// them this is to be known; what is wrong with the others is not.
pub fn between_hosts(input: &Input) -> Report {
    let mut report = Report::new();
    if input.hosts.len() > 1 || input.cluster.is_some() {
        let networks: Vec<_> = parallel::each(&input.hosts, HOSTS_AT_ONCE, |host| network::attempt(host, None).0);
        let is_complete = is_complete(&input.report);
        check_fleet(&input.hosts, &networks, input.cluster.as_ref(), is_complete, &mut report);
    }
    report
}

/// Whether all hosts that the documents describe were read: of one that was left out nothing is known.
fn is_complete(report: &Report) -> bool {
    const LEFT_OUT: [&str; 2] = ["host-without-network", "network-secret-not-named"];
    !report.has_errors() && !report.findings().iter().any(|finding| LEFT_OUT.contains(&finding.code))
}

/// Checks those hosts against each other that could be read; `is_complete` says that the documents hold no others.
fn check_fleet(
    hosts: &[HostSpec],
    networks: &[Result<HostNetwork, Option<Box<Topology>>>],
    cluster: Option<&Cluster>,
    is_complete: bool,
    report: &mut Report,
) {
    let checked: Vec<_> = hosts
        .iter()
        .zip(networks)
        .filter_map(|(host, network)| match network {
            Ok(HostNetwork { topology, .. }) => Some(CheckedHost { host, topology }),
            Err(Some(topology)) => Some(CheckedHost { host, topology }),
            Err(None) => None,
        })
        .collect();
    let all_read = is_complete && checked.len() == hosts.len();
    check::fleet(&checked, cluster, all_read, report);
}
