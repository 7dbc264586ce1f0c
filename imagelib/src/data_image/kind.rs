//! The kinds of drives and their file systems.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use vocabulary::network_files::NetworkFiles;

/// Whom a drive is for. Its name is the label by which its readers find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub enum DataKind {
    /// `OpenStack`'s config drive, for cloud-init, cloudbase-init and the Ironic Python agent.
    #[serde(rename = "config-2")]
    ConfigDrive,
    /// A seed of cloud-init's data source `NoCloud`.
    #[serde(rename = "cidata")]
    NoCloud,
    /// A configuration for Combustion.
    #[serde(rename = "combustion")]
    Combustion,
}

/// A text that is not the name of a [`DataKind`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of data drive; use config-2, cidata or combustion")]
pub struct UnknownDataKind(String);

named_variants!(DataKind, UnknownDataKind {
    ConfigDrive => "config-2",
    NoCloud => "cidata",
    Combustion => "combustion",
});

impl DataKind {
    /// The form in which its readers accept a host's network.
    pub fn network_files(self) -> NetworkFiles {
        match self {
            Self::ConfigDrive => NetworkFiles::NetworkData,
            Self::NoCloud => NetworkFiles::NetworkConfig,
            Self::Combustion => NetworkFiles::Keyfiles,
        }
    }
}

/// The file system of a drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileSystem {
    /// ISO 9660, for slots that show a CD.
    #[default]
    Iso,
    /// FAT, for slots that show a disk.
    Vfat,
}

/// A text that is not the name of a [`FileSystem`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a file system for a data drive; use iso or vfat")]
pub struct UnknownFileSystem(String);

named_variants!(FileSystem, UnknownFileSystem {
    Iso => "iso",
    Vfat => "vfat",
});
