//! Reads the attributes of a base's file: without waiting for its file system if that is possible, or by asking it.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Statx, StatxFlags, makedev, openat2, statx};
use rustix::io::Errno;

/// `f_type` of file systems that keep the inodes of open files in this machine's memory, so that `fstat(2)` never waits
/// (`linux/magic.h`, and the headers of ZFS and bcachefs).
const LOCAL: [u64; 15] = [
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0xf2f5_2010, // F2FS
    0x2fc1_2fc1, // ZFS
    0xca45_1a4e, // bcachefs
    0x7371_7368, // SquashFS
    0xe0f5_e1e2, // EROFS
    0x9660,      // ISO 9660
    0x1501_3346, // UDF
    0x4d44,      // FAT
    0x2011_bab0, // exFAT
    0x7366_746e, // NTFS
];

/// Whether the kernel knows the attributes of an open file without asking another machine or process.
pub(super) fn is_local(file_system: u64) -> bool {
    LOCAL.contains(&file_system)
}

/// The device and the inode of the file at a path, if the kernel has them in its cache. `None` if it would have to ask
/// a file system, which may never answer, or if there is no file.
pub(super) fn cached_inode(path: &Path) -> Option<(u64, u64)> {
    let (flags, mode) = (OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let file = openat2(CWD, path, flags, mode, ResolveFlags::CACHED).ok()?;
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let known = statx(&file, c"", flags, StatxFlags::INO).ok()?;
    Some((makedev(known.stx_dev_major, known.stx_dev_minor), known.stx_ino))
}

/// The attributes of an open file, for which the kernel asks the machine or the process that has the file. `None` if this kernel
/// cannot do that.
pub(super) fn asked(file: &File) -> io::Result<Option<Statx>> {
    match statx(file, c"", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOSYS) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn the_cached_inode_is_that_of_stat() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "x").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(cached_inode(&path), Some((metadata.dev(), metadata.ino())));
        fs::rename(&path, directory.path().join("other")).unwrap();
        assert_eq!(cached_inode(&path), None);
        fs::write(&path, "y").unwrap();
        assert_ne!(cached_inode(&path), Some((metadata.dev(), metadata.ino())));
    }
}
