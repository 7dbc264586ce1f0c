//! Kinds of images.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What kind of image is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A bootable ISO, for virtual media.
    Iso,
    /// A bootable ISO without its root file system, which is fetched over the network.
    MinimalIso,
    /// A kernel and an initramfs, for network boot.
    Initrd,
    /// A disk with an EFI system partition, for virtual media that the host sees as a disk.
    Usb,
    /// A small medium with configuration only, for a second slot or a running host.
    Data,
}

/// Not a kind of image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of iso, minimal-iso, initrd, usb and data")]
pub struct UnknownFormat(String);

impl Format {
    pub(crate) const ALL: [Self; 5] = [Self::Iso, Self::MinimalIso, Self::Initrd, Self::Usb, Self::Data];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Iso => "iso",
            Self::MinimalIso => "minimal-iso",
            Self::Initrd => "initrd",
            Self::Usb => "usb",
            Self::Data => "data",
        }
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
