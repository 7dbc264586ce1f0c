//! A host's network, in the form that a system takes.

use super::NetworkFiles;
use crate::host::{HostName, HostSpec};
use crate::network::cloud::{self, CloudNetwork};
use crate::network::{self, Keyfile, NetworkManagerVersion, NetworkdUnit};
use crate::report::Report;

/// A host's network as files, in one form or the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConvertedNetwork {
    /// NetworkManager's profiles.
    pub keyfiles: Vec<Keyfile>,
    /// Units of systemd-networkd.
    pub networkd_units: Vec<NetworkdUnit>,
    /// `network_data.json` or `network-config`.
    pub network_data: Option<String>,
    /// The host name.
    pub hostname: Option<HostName>,
}

/// Converts a host's NMState document to the files that a system takes. There is a network exactly when the report has
/// no errors.
///
/// `release` is the system's NetworkManager, where it is known: what it lacks is said of keyfiles.
///
/// `no_auto_default` is [`crate::ignition::Additions::no_auto_default`], which takes a unit of its own where
/// systemd-networkd is to heed it.
pub fn convert_network(
    host: &HostSpec,
    files: NetworkFiles,
    release: Option<NetworkManagerVersion>,
    no_auto_default: bool,
) -> (Option<ConvertedNetwork>, Report) {
    match files {
        NetworkFiles::Keyfiles => {
            let mut report = network::release_findings(release);
            let (network, findings) = network::convert_for(host, release);
            report.append(findings);
            let converted = |network: network::HostNetwork| ConvertedNetwork {
                keyfiles: network.keyfiles,
                hostname: network.hostname,
                ..ConvertedNetwork::default()
            };
            (network.map(converted), report)
        }
        NetworkFiles::NetworkdUnits => {
            let (network, report) = network::networkd::convert(host);
            let unmentioned = no_auto_default.then(network::networkd::unmentioned);
            let converted = |network: network::networkd::HostUnits| ConvertedNetwork {
                networkd_units: network.units.into_iter().chain(unmentioned).collect(),
                hostname: network.hostname,
                ..ConvertedNetwork::default()
            };
            (network.map(converted), report)
        }
        NetworkFiles::NetworkData => from_cloud(cloud::network_data(host)),
        NetworkFiles::NetworkConfig => from_cloud(cloud::network_config(host)),
    }
}

fn from_cloud((network, report): (Option<CloudNetwork>, Report)) -> (Option<ConvertedNetwork>, Report) {
    let converted = |network: CloudNetwork| ConvertedNetwork {
        network_data: Some(network.content),
        hostname: network.hostname,
        ..ConvertedNetwork::default()
    };
    (network.map(converted), report)
}
