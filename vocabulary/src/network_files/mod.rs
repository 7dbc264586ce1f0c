//! The files that configure a host's network.

mod file_name;
mod initramfs_network;
mod keyfile;
mod manager_version;
mod networkd_unit;

use serde::Serialize;

pub use file_name::NetworkFileNameError;
pub use initramfs_network::{InitramfsNetwork, InitramfsNetworkError, InitramfsNic, Ipv4Address, NicName};
pub use keyfile::{Keyfile, KeyfileName};
pub use manager_version::{NetworkManagerVersion, NetworkManagerVersionError};
pub use networkd_unit::{NetworkdUnit, NetworkdUnitName};

/// The form in which a system reads its network configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkFiles {
    /// NetworkManager's keyfiles.
    #[default]
    Keyfiles,
    /// Units of systemd-networkd.
    NetworkdUnits,
    /// `OpenStack`'s `network_data.json`, on a data drive.
    NetworkData,
    /// cloud-init's `network-config`, on a data drive.
    NetworkConfig,
}
