//! What a host's documents say about its BMC: taken over as it stands there, and interpreted by whoever drives the BMC.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::HostError;

/// How a host's firmware boots, named as Metal3 names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BootMode {
    /// UEFI.
    #[serde(rename = "UEFI")]
    Uefi,
    /// UEFI with Secure Boot.
    #[serde(rename = "UEFISecureBoot")]
    UefiSecureBoot,
    /// BIOS.
    #[serde(rename = "legacy")]
    Legacy,
}

impl FromStr for BootMode {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        match text {
            "UEFI" => Ok(Self::Uefi),
            "UEFISecureBoot" => Ok(Self::UefiSecureBoot),
            "legacy" => Ok(Self::Legacy),
            _ => Err(HostError::BootMode(text.to_owned())),
        }
    }
}

impl fmt::Display for BootMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uefi => "UEFI",
            Self::UefiSecureBoot => "UEFISecureBoot",
            Self::Legacy => "legacy",
        })
    }
}

/// The BMC of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BmcSpec {
    /// Its address, as Metal3 writes it: `redfish-virtualmedia+https://192.0.2.200/redfish/v1/Systems/1`.
    pub address: String,
    /// The name of the Secret with its credentials, whether that is there or not.
    pub credentials_name: Option<String>,
    /// What logs in there, or why that is not known.
    pub credentials: Result<BmcCredentials, NoCredentials>,
    /// Whether whoever answers there is taken for the BMC, whatever certificate it shows.
    pub disable_certificate_verification: bool,
}

/// A host's BMC and what else driving it needs, without the rest of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostBmc {
    /// What the documents call the host.
    pub name: String,
    /// How its firmware boots.
    pub boot_mode: Option<BootMode>,
    /// Its BMC.
    pub bmc: BmcSpec,
}

/// Why the documents do not say what logs in at a BMC. A whole sentence, with its place in the documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoCredentials(pub String);

/// What logs in at a BMC.
#[derive(Clone, PartialEq, Eq)]
pub struct BmcCredentials {
    /// The user's name.
    pub username: String,
    /// The password. Never to be shown.
    pub password: String,
}

impl fmt::Debug for BmcCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BmcCredentials(…)")
    }
}
