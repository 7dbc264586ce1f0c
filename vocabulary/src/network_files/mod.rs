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

/// NetworkManager's directory of keyfiles.
pub const KEYFILES: &str = "/etc/NetworkManager/system-connections";
/// NetworkManager's directory of configuration files.
pub const CONFIGURATION: &str = "/etc/NetworkManager/conf.d";
/// The name and the content of the configuration file by which NetworkManager leaves NICs without a profile alone.
pub const NO_AUTO_DEFAULT: (&str, &str) = ("99-dayone-no-auto-default.conf", "[main]\nno-auto-default=*\n");
/// systemd-networkd's directory of units.
pub const NETWORKD_UNITS: &str = "/etc/systemd/network";
/// The name of the unit that keeps systemd-networkd from configuring NICs that no document mentions.
pub const UNMENTIONED_UNIT: &str = "11-dayone-unmentioned.network";

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
    /// The same format for netplan itself, in the answer file of Ubuntu's installer.
    Netplan,
    /// The network configuration of Talos, in a kernel argument.
    TalosNetwork,
}
