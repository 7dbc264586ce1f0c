//! Why there is no minimal ISO.

use std::io;

use crate::compression::CompressionError;
use crate::digest::Digest;
use crate::iso::IsoError;
use crate::iso::coreos::CoreosIsoError;
use crate::overlay::OverlayError;

/// Why the minimal ISO cannot be made of an ISO that says how.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MinimalIsoError {
    /// The full ISO, or the minimal one, is damaged as an ISO.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// The embed areas of the minimal ISO are not as they should be.
    #[error("the minimal ISO: {0}")]
    Coreos(#[from] CoreosIsoError),
    /// The description of the minimal ISO makes no sense.
    #[error("/coreos/miniso.dat in the ISO image is damaged: it {0}")]
    Damaged(&'static str),
    /// A description of a version that did not exist when this was written.
    #[error("/coreos/miniso.dat in the ISO image has version {0}, and this dayone knows only version 1: update dayone")]
    Version(u64),
    /// What lies between the files of the minimal ISO cannot be unpacked.
    #[error("/coreos/miniso.dat in the ISO image is damaged: {0}")]
    Compression(#[from] CompressionError),
    /// It names a part of the full ISO that is not there.
    #[error("/coreos/miniso.dat is not that of this ISO image: {0}")]
    Overlay(#[from] OverlayError),
    /// The bytes of the full ISO could not be read.
    #[error("the ISO image cannot be read: {0}")]
    Read(#[from] io::Error),
    /// It has been put together, and is not what it should be.
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
