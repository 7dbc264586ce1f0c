//! Descriptions of the files that dayone puts into an image.

use serde::Serialize;

use crate::digest::Digest;

/// A file that dayone puts into an image. It has a digest instead of the content, which may be secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EmbeddedFile {
    /// Its absolute path in the system.
    pub path: String,
    /// What puts it there.
    pub delivered_by: DeliveredBy,
    /// Permission bits, as octal digits: `0600`; those of a symbolic link are `0777`.
    pub mode: String,
    /// Length in bytes.
    pub size: u64,
    /// The SHA-256 of the content, or of the target of a symbolic link.
    pub sha256: Digest,
}

/// What puts an [`EmbeddedFile`] in its place.
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
    /// Nothing: the file stays on the drive, where its readers look for it.
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
