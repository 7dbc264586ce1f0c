//! The content of a data drive, except for the additions that every image has.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::data_image::{DataKind, FileSystem};

/// What is on a data image, besides the host's network and its name. Contents are in base64 (RFC 4648 §4).
// The host name and, for Combustion, the keyfiles are the recipe's additions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DataDrive {
    /// Whom it is for.
    pub kind: DataKind,
    /// Its file system; `iso` if absent.
    #[serde(default)]
    pub file_system: FileSystem,
    /// `network_data.json` or `network-config`, in place of documents. Not for `combustion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Byte)]
    pub network_data: Option<DriveFile>,
    /// `meta_data.json` or `meta-data`; if absent, one with the host name and an instance id that follows from the content
    /// of the drive. Not for `combustion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Byte)]
    pub meta_data: Option<DriveFile>,
    /// `user_data` or `user-data`; for `combustion`, a script of your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Byte, example = "I2Nsb3VkLWNvbmZpZwo=")]
    pub user_data: Option<DriveFile>,
    /// `vendor_data.json` or `vendor-data`. Not for `combustion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Byte)]
    pub vendor_data: Option<DriveFile>,
    /// The publisher of a `config-2` drive's ISO, which Ironic compares with the kernel argument `ir_pub_id`.
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
