//! Errors about minimal ISOs.

use std::io;

use crate::compression::CompressionError;
use crate::digest::Digest;
use crate::iso::IsoError;
use crate::iso::coreos::CoreosIsoError;
use crate::overlay::OverlayError;

/// Why dayone cannot make the minimal ISO that an ISO describes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MinimalIsoError {
    /// The full ISO, or the minimal one, is damaged as an ISO.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// The embed areas of the minimal ISO are invalid.
    #[error("the minimal ISO: {0}")]
    Coreos(#[from] CoreosIsoError),
    /// The description of the minimal ISO is invalid, for this reason.
    #[error("/coreos/miniso.dat in the ISO image is damaged: it {0}")]
    Damaged(&'static str),
    /// The description has an unknown version.
    #[error("/coreos/miniso.dat in the ISO image has version {0}, and this dayone knows only version 1: update dayone")]
    Version(u64),
    /// Unpacking the parts between the files of the minimal ISO failed.
    #[error("/coreos/miniso.dat in the ISO image is damaged: {0}")]
    Compression(#[from] CompressionError),
    /// The description names a part of the full ISO that does not exist.
    #[error("/coreos/miniso.dat is not that of this ISO image: {0}")]
    Overlay(#[from] OverlayError),
    /// Reading the full ISO failed.
    #[error("the ISO image cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The minimal ISO does not have the recorded checksum.
    #[error(
        "the minimal ISO has the SHA-256 {found}, and /coreos/miniso.dat says {expected}: the ISO image was changed \
         outside its embed areas; download it again"
    )]
    Digest {
        /// What is recorded.
        expected: Digest,
        /// What came out.
        found: Digest,
    },
}
