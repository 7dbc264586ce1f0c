//! How a file is recognised.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use rustix::fs::{FileType, Stat, Statx, makedev};
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

    /// Returns the same as [`of`](Self::of) for the result of `fstat(2)`. The standard library calls `statx(2)`, which takes longer, and
    /// every read of a base ends with such a call.
    pub(super) fn of_stat(stat: &Stat, size: u64) -> Self {
        // They are less than a second, so they fit.
        let modified = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
        let changed = (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0));
        let is_block_device = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
        let changed = if is_block_device { (0, 0) } else { changed };
        Self { device: stat.st_dev, inode: stat.st_ino, size, modified, changed }
    }

    /// Returns the same as [`of`](Self::of) for the result of `statx(2)` for a file.
    pub(super) fn of_statx(stat: &Statx) -> Self {
        Self {
            device: makedev(stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            size: stat.stx_size,
            modified: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec.into()),
            changed: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use super::*;

    #[test]
    fn all_system_calls_give_the_same() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(5).unwrap();
        // Three file systems, whose devices have numbers of different kinds.
        for path in [file.path(), Path::new("/dev/null"), Path::new("/proc/self/stat")] {
            let opened = File::open(path).unwrap();
            let (metadata, stat) = (opened.metadata().unwrap(), rustix::fs::fstat(&opened).unwrap());
            assert_eq!(u64::try_from(stat.st_size).unwrap(), metadata.size(), "{}", path.display());
            let expected = Fingerprint::of(&metadata, metadata.size());
            assert_eq!(Fingerprint::of_stat(&stat, metadata.size()), expected, "{}", path.display());
            let asked = super::super::stat::asked(&opened).unwrap().unwrap();
            assert_eq!(Fingerprint::of_statx(&asked), expected, "{}", path.display());
            assert_ne!((expected.inode, expected.changed.0), (0, 0), "{}", path.display());
        }
        // Only root can open a block device, so this is a file with the mode of one.
        let mut stat = rustix::fs::fstat(file.as_file()).unwrap();
        stat.st_mode = FileType::BlockDevice.as_raw_mode();
        assert_eq!(Fingerprint::of_stat(&stat, 5).changed, (0, 0), "udev changes the ctime of a node");
    }
}
