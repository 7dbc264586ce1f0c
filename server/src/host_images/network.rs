//! Converts a host's network to the files that its system reads.

use hosts::input;
use hosts::network::{ConvertedNetwork, Target, convert_network};
use vocabulary::host::{HostName, HostSpec};
use vocabulary::report::Report;

use super::{BuildError, NetworkSource};

/// Converts a network, and adds the findings to the report. `hostname` is the host's name, unless the document sets one.
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
