//! What an image carries of its own, as it may be shown.

use serde::Serialize;

use crate::digest::Digest;

/// A file that dayone put into an image. Its content is not here, for it may be secret: the digest tells whether it is
/// the one expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EmbeddedFile {
    /// Where it stands, as an absolute path.
    pub path: String,
    /// Who puts it there.
    pub delivered_by: DeliveredBy,
    /// Permission bits, as octal digits: `0600`; those of a symbolic link are `0777`.
    pub mode: String,
    /// Length in bytes.
    pub size: u64,
    /// SHA-256 of the content; of a symbolic link, that is what it points at.
    pub sha256: Digest,
}

/// Who puts an [`EmbeddedFile`] in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DeliveredBy {
    /// The kernel, when it unpacks the initramfs.
    Initramfs,
    /// A script in the initramfs, which copies it to the root file system before the system there is started.
    Handover,
    /// Ignition, in the booted system.
    Ignition,
    /// Nobody: it lies on the drive for who reads it there.
    Drive,
}

impl EmbeddedFile {
    pub(crate) fn new(path: &str, delivered_by: DeliveredBy, mode: u32, content: &[u8]) -> Self {
        let path = format!("/{}", path.trim_start_matches('/'));
        Self {
            path,
            delivered_by,
            mode: format!("{mode:04o}"),
            size: content.len() as u64,
            sha256: Digest::of(content),
        }
    }
}
