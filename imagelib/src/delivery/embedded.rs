//! The files that dayone has embedded in an image, without their contents.

use serde::Serialize;
use utoipa::ToSchema;

use crate::digest::Digest;

/// A file that dayone has embedded in an image. The content may be secret, so there is only its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct EmbeddedFile {
    /// The absolute path in the booted system, or in its initramfs.
    #[schema(example = "/etc/coreos-firstboot-network/eth0.nmconnection")]
    pub path: String,
    /// What puts the file there: `initramfs` (the kernel, when it unpacks the initramfs), `handover` (a script in the initramfs,
    /// which copies it to the root file system), `ignition`, `credential` (systemd-tmpfiles, in the initramfs and in the booted system),
    /// or `drive` (the file is on a data image).
    #[schema(value_type = String, example = "initramfs")]
    pub delivered_by: DeliveredBy,
    /// The permission bits, octal; `0777` for a symbolic link.
    #[schema(example = "0600")]
    pub mode: String,
    /// The length in bytes.
    pub size: u64,
    /// The SHA-256 of the content; for a symbolic link, of its target.
    #[schema(value_type = String)]
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
    /// systemd-tmpfiles, from lines in a credential: in the initramfs, and again in the booted system.
    Credential,
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
