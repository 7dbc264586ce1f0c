//! A host's network, in the form that a system takes.

use super::cloud::{self, CloudNetwork};
use super::{HostNetwork, Keyfile, NetworkFiles, NetworkManagerVersion, NetworkdUnit, networkd};
use vocabulary::host::{HostName, HostSpec};
use vocabulary::report::Report;

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
/// `no_auto_default` is the order's, that NICs without a profile stay as they are, which takes a unit of its own where
/// systemd-networkd is to heed it.
pub fn convert_network(
    host: &HostSpec,
    files: NetworkFiles,
    release: Option<NetworkManagerVersion>,
    no_auto_default: bool,
) -> (Option<ConvertedNetwork>, Report) {
    match files {
        NetworkFiles::Keyfiles => {
            let mut report = super::release_findings(release);
            let (network, findings) = super::convert_for(host, release);
            report.append(findings);
            let converted = |network: HostNetwork| ConvertedNetwork {
                keyfiles: network.keyfiles,
                hostname: network.hostname,
                ..ConvertedNetwork::default()
            };
            (network.map(converted), report)
        }
        NetworkFiles::NetworkdUnits => {
            let (network, report) = networkd::convert(host);
            let unmentioned = no_auto_default.then(networkd::unmentioned).flatten();
            let converted = |network: networkd::HostUnits| ConvertedNetwork {
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
