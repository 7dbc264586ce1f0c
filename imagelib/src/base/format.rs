//! Formats of images.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The format of an image.
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

/// A text that is not the name of a [`Format`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an image format; use iso, minimal-iso, initrd, usb or data")]
pub struct UnknownFormat(String);

named_variants!(Format, UnknownFormat {
    Iso => "iso",
    MinimalIso => "minimal-iso",
    Initrd => "initrd",
    Usb => "usb",
    Data => "data",
});
