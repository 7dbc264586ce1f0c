//! All hosts of an input: converted, and checked each by itself and against each other.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use super::CheckedHost;
use crate::host::{Cluster, HostSpec};
use crate::input::Input;
use crate::network::{self, HostNetwork, NetworkManagerVersion};
use crate::report::Report;

/// From how many hosts on a thread is worth its start.
const HOSTS_OF_A_THREAD: usize = 32;

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
/// Hosts whose network cannot be converted are left out of the latter. The same input gives the same findings in the same
/// order, on however many threads.
pub fn convert_all(input: Input) -> Converted {
    convert_all_for(input, None)
}

/// [`convert_all`], for a release of NetworkManager on the hosts, where it is known: [`network::convert_for`].
pub fn convert_all_for(input: Input, release: Option<NetworkManagerVersion>) -> Converted {
    let Input { hosts, cluster, mut report } = input;
    report.append(network::release_findings(release));
    let converted = each(&hosts, |host| network::convert_for(host, release));
    let mut networks = Vec::with_capacity(hosts.len());
    for (network, findings) in converted {
        report.append(findings);
        networks.push(network);
    }
    super::fleet(&checked(&hosts, &networks), cluster.as_ref(), &mut report);
    Converted { hosts: hosts.into_iter().zip(networks).collect(), cluster, report }
}

/// What is wrong between the hosts of an input, and with what is said of their cluster. Of an image that is for one of
/// them this is to be known; what is wrong with the others is not.
pub fn between_hosts(input: &Input) -> Report {
    let mut report = Report::new();
    if input.hosts.len() > 1 || input.cluster.is_some() {
        let networks: Vec<_> = each(&input.hosts, |host| network::convert(host).0);
        super::fleet(&checked(&input.hosts, &networks), input.cluster.as_ref(), &mut report);
    }
    report
}

fn checked<'a>(hosts: &'a [HostSpec], networks: &'a [Option<HostNetwork>]) -> Vec<CheckedHost<'a>> {
    let pairs = hosts.iter().zip(networks);
    pairs.filter_map(|(host, network)| Some(CheckedHost { host, topology: &network.as_ref()?.topology })).collect()
}

/// What `convert` makes of each item, in their order.
fn each<T: Sync, R: Send>(items: &[T], convert: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = processors.min(items.len() / HOSTS_OF_A_THREAD);
    if threads < 2 {
        return items.iter().map(convert).collect();
    }
    let convert = &convert;
    thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(threads));
        let running: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(convert).collect::<Vec<R>>())).collect();
        running.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_keep_the_order() {
        for count in [0, 1, 63, 64, 65, 1000] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(each(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
