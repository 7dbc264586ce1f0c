//! What is on a data drive, apart from the additions that every image has.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::data_image::{DataKind, FileSystem};

/// A data drive. The host name and, for Combustion, the keyfiles are [`Recipe::additions`](super::Recipe::additions).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataDrive {
    /// Whom it is for.
    pub kind: DataKind,
    /// Its file system.
    #[serde(default)]
    pub file_system: FileSystem,
    /// `network_data.json` of a config drive, `network-config` of a seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<DriveFile>,
    /// `meta_data.json` or `meta-data`; made of the host name where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<DriveFile>,
    /// `user_data` or `user-data`; for Combustion, the user's own script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<DriveFile>,
    /// `vendor_data.json` or `vendor-data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor_data: Option<DriveFile>,
    /// The publisher of a config drive's volume, which Ironic compares with the kernel argument `ir_pub_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
}

impl DataDrive {
    /// A drive with nothing on it yet.
    pub fn new(kind: DataKind, file_system: FileSystem) -> Self {
        Self {
            kind,
            file_system,
            network_data: None,
            meta_data: None,
            user_data: None,
            vendor_data: None,
            publisher: None,
        }
    }
}

/// The content of a file on a drive; base64 (RFC 4648 §4) in JSON.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DriveFile(#[serde(with = "crate::base64_text")] Bytes);

impl DriveFile {
    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl<B: Into<Bytes>> From<B> for DriveFile {
    fn from(content: B) -> Self {
        Self(content.into())
    }
}

impl fmt::Debug for DriveFile {
    /// Without the content, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriveFile").field("size", &self.0.len()).finish_non_exhaustive()
    }
}
