//! Finds mistakes in hosts' networks before anything boots.

mod address;
pub(crate) mod document;
mod fleet;
mod host;
pub(crate) mod keyfiles;
pub(crate) mod profile;
pub(crate) mod release;
mod words;

pub use fleet::Comparison;

use crate::model::Topology;
use vocabulary::host::{Cluster, HostSpec};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{DocumentPath, Report};

/// A host whose network could be read.
#[derive(Debug, Clone, Copy)]
pub struct CheckedHost<'a> {
    /// The host.
    pub host: &'a HostSpec,
    /// Its network.
    pub topology: &'a Topology,
}

/// Checks the network of one host by itself, which goes to the host as `files`. [`crate::network::convert`] does it for every host.
pub(crate) fn host(host: CheckedHost<'_>, files: NetworkFiles, report: &mut Report) {
    host::check(host, files, report);
}

/// Checks hosts against each other and against their cluster. `all_read` says whether these are all hosts of the documents:
/// if not, a host that is missing here may have what none of these has.
pub fn fleet(hosts: &[CheckedHost<'_>], cluster: Option<&Cluster>, all_read: bool) -> Comparison {
    fleet::check(hosts, cluster, all_read)
}

/// Where the host name comes from.
fn place_of_name(host: &CheckedHost<'_>) -> DocumentPath {
    if let Some(document) = host.host.network.as_nmstate()
        && document.value.get("hostname").is_some_and(|hostname| hostname.get("config").is_some())
    {
        let path = document.path.key("hostname").key("config");
        return document.origins.of(&path).unwrap_or(path);
    }
    host.host.paths.host.clone()
}
