//! A host's network, in the form that a system takes.

use super::cloud::{self, CloudNetwork};
use super::networkd::{self, HostUnits};
use super::{Attempt, HostNetwork, Keyfile, NetworkFiles, NetworkManagerVersion, NetworkdUnit, keyfiles};
use crate::model::Topology;
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
    /// What the files make of the host.
    pub topology: Topology,
}

/// What the system takes that a host's network is converted for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Target {
    /// The form.
    pub files: NetworkFiles,
    /// The system's NetworkManager, where it is known: what it lacks is said of keyfiles.
    pub release: Option<NetworkManagerVersion>,
    /// Whether NICs without a profile stay as they are, which takes a unit of its own where systemd-networkd is to heed it.
    pub no_auto_default: bool,
}

impl Target {
    /// Keyfiles, for a release of NetworkManager, where it is known.
    pub fn keyfiles(release: Option<NetworkManagerVersion>) -> Self {
        Self { release, ..Self::default() }
    }

    /// What there is to say of the system by itself, whatever the host's network.
    pub fn findings(&self) -> Report {
        match self.files {
            NetworkFiles::Keyfiles => super::release_findings(self.release),
            NetworkFiles::NetworkdUnits | NetworkFiles::NetworkData | NetworkFiles::NetworkConfig => Report::new(),
        }
    }
}

/// Converts a host's network to the files that a system takes. There are files exactly when the report has no errors.
pub fn convert_network(host: &HostSpec, target: Target) -> (Option<ConvertedNetwork>, Report) {
    let (network, findings) = attempt(host, target);
    let mut report = target.findings();
    report.append(findings);
    (network.ok(), report)
}

/// [`convert_network`], without what there is to say of the system by itself.
pub(crate) fn attempt(host: &HostSpec, target: Target) -> (Attempt<ConvertedNetwork>, Report) {
    match target.files {
        NetworkFiles::Keyfiles => {
            let (network, report) = keyfiles(host, target.release);
            (network.map(from_keyfiles), report)
        }
        NetworkFiles::NetworkdUnits => {
            let (network, report) = networkd::attempt(host);
            (network.map(|(units, topology)| from_units(units, topology, target.no_auto_default)), report)
        }
        NetworkFiles::NetworkData => from_cloud(cloud::attempt_network_data(host)),
        NetworkFiles::NetworkConfig => from_cloud(cloud::attempt_network_config(host)),
    }
}

fn from_keyfiles(HostNetwork { keyfiles, hostname, topology }: HostNetwork) -> ConvertedNetwork {
    ConvertedNetwork { keyfiles, hostname, topology, ..ConvertedNetwork::default() }
}

fn from_units(HostUnits { units, hostname }: HostUnits, topology: Topology, no_auto_default: bool) -> ConvertedNetwork {
    let unmentioned = no_auto_default.then(networkd::unmentioned).flatten();
    let networkd_units = units.into_iter().chain(unmentioned).collect();
    ConvertedNetwork { networkd_units, hostname, topology, ..ConvertedNetwork::default() }
}

fn from_cloud((network, report): (Attempt<(CloudNetwork, Topology)>, Report)) -> (Attempt<ConvertedNetwork>, Report) {
    let converted = |(CloudNetwork { content, hostname }, topology)| ConvertedNetwork {
        network_data: Some(content),
        hostname,
        topology,
        ..ConvertedNetwork::default()
    };
    (network.map(converted), report)
}
