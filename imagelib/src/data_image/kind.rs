//! What distinguishes drives: who reads them, and in what file system.

use std::fmt;
use std::str::FromStr;

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

/// Not a kind of drive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of config-2, cidata and combustion")]
pub struct UnknownDataKind(String);

impl DataKind {
    /// The name as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigDrive => "config-2",
            Self::NoCloud => "cidata",
            Self::Combustion => "combustion",
        }
    }

    /// In what form its readers take a host's network.
    pub fn network_files(self) -> NetworkFiles {
        match self {
            Self::ConfigDrive => NetworkFiles::NetworkData,
            Self::NoCloud => NetworkFiles::NetworkConfig,
            Self::Combustion => NetworkFiles::Keyfiles,
        }
    }
}

impl FromStr for DataKind {
    type Err = UnknownDataKind;

    fn from_str(text: &str) -> Result<Self, UnknownDataKind> {
        let found = [Self::ConfigDrive, Self::NoCloud, Self::Combustion].into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| UnknownDataKind(text.chars().take(64).collect()))
    }
}

impl fmt::Display for DataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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

/// Not a file system of drives.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither iso nor vfat")]
pub struct UnknownFileSystem(String);

impl FromStr for FileSystem {
    type Err = UnknownFileSystem;

    fn from_str(text: &str) -> Result<Self, UnknownFileSystem> {
        match text {
            "iso" => Ok(Self::Iso),
            "vfat" => Ok(Self::Vfat),
            other => Err(UnknownFileSystem(other.chars().take(64).collect())),
        }
    }
}
