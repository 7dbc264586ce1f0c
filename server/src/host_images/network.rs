//! From the network of a host, as its user wrote it, to the files that its system takes.

use hosts::input;
use hosts::network::{ConvertedNetwork, Target, convert_network};
use vocabulary::host::{HostName, HostSpec};
use vocabulary::report::Report;

use super::{BuildError, NetworkSource};

/// Converts a network, for a host whose name is `hostname` where the document names none. What is found is added to the
/// report.
pub(super) fn network(
    source: &NetworkSource<'_>,
    hostname: Option<HostName>,
    target: Target,
    report: &mut Report,
) -> Result<ConvertedNetwork, BuildError> {
    let (host, found) = match source {
        NetworkSource::Nmstate(document) => input::read_nmstate(document.bytes, &document.path),
        NetworkSource::Secret { path, data } => input::read_network_secret(data, path),
    };
    report.append(found);
    let Some(host) = host else { return Err(BuildError::refused(report)) };
    let (network, found) = convert_network(&HostSpec { hostname, ..host }, target);
    report.append(found);
    network.ok_or_else(|| BuildError::refused(report))
}
