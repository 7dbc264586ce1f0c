//! What a host's documents say about its BMC. The client of the BMC interprets it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::HostError;
use crate::text_as_serde;

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

text_as_serde!(BootMode, HostError::BootMode);

/// The BMC of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BmcSpec {
    /// The address as Metal3 writes it: `redfish-virtualmedia+https://192.0.2.200/redfish/v1/Systems/1`.
    pub address: String,
    /// The name of the Secret with its credentials. The documents may lack that Secret.
    pub credentials_name: Option<String>,
    /// The credentials, or why they are unknown.
    pub credentials: Result<BmcCredentials, NoCredentials>,
    /// Whether the client accepts any certificate.
    pub disable_certificate_verification: bool,
}

/// A host's BMC, with the facts about the host that its client needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostBmc {
    /// What the documents call the host.
    pub name: String,
    /// How the firmware of the host boots.
    pub boot_mode: Option<BootMode>,
    /// The BMC.
    pub bmc: BmcSpec,
}

/// Why the credentials of a BMC are unknown: a whole sentence with the place in the documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoCredentials(pub String);

/// The credentials for a BMC.
#[derive(Clone, PartialEq, Eq)]
pub struct BmcCredentials {
    /// The name of the user.
    pub username: String,
    /// The password. It must never be shown.
    pub password: String,
}

impl fmt::Debug for BmcCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BmcCredentials(…)")
    }
}
