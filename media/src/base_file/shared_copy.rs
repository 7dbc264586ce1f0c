//! A copy of a base's file that shares its blocks (`ioctl_ficlone(2)`): XFS, Btrfs and bcachefs make one without reading a byte.
//!
//! No other program can open this copy, so its pages never change. The kernel may therefore send them by itself, as it does with
//! copies that dayone made byte by byte.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ioctl_ficlone, open};

use super::{BaseError, BaseFile, Storage};

impl BaseFile {
    /// Reads from now on from a copy that shares the blocks of the file, in one of these directories, if the file system can make
    /// one. The copy has no name, and is gone when the file is closed. All checks are still those of the file itself: if somebody writes to
    /// it or replaces it, that is an error as before. Its other attributes no longer matter.
    pub fn with_shared_copy<'a>(self, directories: impl IntoIterator<Item = &'a Path>) -> Result<Self, BaseError> {
        if self.private || self.block_device || self.storage != Storage::Local {
            return Ok(self);
        }
        let Some(copy) = directories.into_iter().find_map(|directory| self.copy_in(directory).ok()) else {
            return Ok(self);
        };
        // The copy has the bytes of this moment, and these are the file's only if it has not changed since it was opened.
        self.verify()?;
        Ok(Self { shared_copy: Some(copy), ..self })
    }

    /// Whether reads come from a copy that shares the blocks of the file.
    pub fn has_shared_copy(&self) -> bool {
        self.shared_copy.is_some()
    }

    fn copy_in(&self, directory: &Path) -> io::Result<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = File::from(open(directory, flags, Mode::RUSR | Mode::WUSR)?);
        ioctl_ficlone(&copy, &self.file)?;
        Ok(copy)
    }
}
