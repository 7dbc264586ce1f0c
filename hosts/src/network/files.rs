//! A host's network as files, and the system that takes them.

use super::{Keyfile, NetworkFiles, NetworkManagerVersion, NetworkdUnit, TalosNetwork};
use crate::model::Topology;
use vocabulary::host::HostName;
use vocabulary::report::Report;

/// A host's network as files, in one form or the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConvertedNetwork {
    /// NetworkManager's profiles, sorted by name, no two of one name (in whatever case).
    pub keyfiles: Vec<Keyfile>,
    /// Units of systemd-networkd.
    pub networkd_units: Vec<NetworkdUnit>,
    /// `network_data.json` or `network-config`.
    pub network_data: Option<String>,
    /// The network configuration of Talos.
    pub talos_network: Option<TalosNetwork>,
    /// The host name: `hostname.config` of the NMState document where it says one, else [`HostSpec::hostname`].
    pub hostname: Option<HostName>,
    /// What the files make of the host, with the places in the user's documents.
    pub topology: Topology,
}

/// The system that a host's network is converted for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Target {
    /// The form.
    pub files: NetworkFiles,
    /// The system's NetworkManager, if it is known: findings about keyfiles say what it lacks.
    pub release: Option<NetworkManagerVersion>,
    /// Whether the system leaves NICs without a profile alone. systemd-networkd needs a unit of its own for that. Talos cannot.
    pub no_auto_default: bool,
}

impl Target {
    /// Keyfiles, for a release of NetworkManager, if it is known.
    pub fn keyfiles(release: Option<NetworkManagerVersion>) -> Self {
        Self { release, ..Self::default() }
    }

    /// Findings about the system, whatever the host's network.
    pub fn findings(&self) -> Report {
        match self.files {
            NetworkFiles::Keyfiles => super::release_findings(self.release),
            NetworkFiles::NetworkdUnits
            | NetworkFiles::NetworkData
            | NetworkFiles::NetworkConfig
            | NetworkFiles::Netplan
            | NetworkFiles::TalosNetwork => Report::new(),
        }
    }
}
