//! A host's network as the files that a system takes.

mod keyfile;
mod manager_version;
mod networkd_unit;

use serde::Serialize;

pub use keyfile::{Keyfile, KeyfileName, KeyfileNameError};
pub use manager_version::{NetworkManagerVersion, NetworkManagerVersionError};
pub use networkd_unit::{NetworkdUnit, NetworkdUnitName, NetworkdUnitNameError};

/// In what form a system takes its network configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkFiles {
    /// NetworkManager's keyfiles.
    #[default]
    Keyfiles,
    /// Units of systemd-networkd.
    NetworkdUnits,
    /// `OpenStack`'s `network_data.json`, which data drives have.
    NetworkData,
    /// cloud-init's `network-config`, which data drives have.
    NetworkConfig,
}
