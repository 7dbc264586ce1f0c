//! How a file is recognised.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use serde::{Deserialize, Serialize};

/// The attributes that show whether a file is still the same, and unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

impl Fingerprint {
    /// Whether both are fingerprints of the same file, which may have changed in between.
    pub fn is_same_inode(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    pub(crate) fn of(metadata: &Metadata, size: u64) -> Self {
        // The ctime of a block device's node changes when udev sets its permissions, which does not change its bytes.
        let changed =
            if metadata.file_type().is_block_device() { (0, 0) } else { (metadata.ctime(), metadata.ctime_nsec()) };
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Self { device: metadata.dev(), inode: metadata.ino(), size, modified, changed }
    }
}
