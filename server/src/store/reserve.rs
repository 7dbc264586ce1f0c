//! Room on the disk that dayone keeps for records that must be written even if the disk is full.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use parking_lot::Mutex;

/// How much room it is, in bytes. A usual record is much smaller, and each replaces an earlier one.
const SIZE: usize = 256 << 10;

/// The room: a file without a name, so that nobody sees it, and nothing of it remains after the process.
#[derive(Debug, Default)]
pub(super) struct Reserve(Mutex<Option<File>>);

impl Reserve {
    /// Takes the room on the file system of this directory, if it is not taken and there is room.
    pub(super) fn take(&self, directory: &Path) {
        let mut file = self.0.lock();
        if file.is_none() {
            *file = reserved(directory).ok();
        }
    }

    /// Gives the room to whoever writes next. Returns whether there was any.
    pub(super) fn release(&self) -> bool {
        self.0.lock().take().is_some()
    }
}

fn reserved(directory: &Path) -> io::Result<File> {
    let mut file = tempfile::tempfile_in(directory)?;
    // Bytes, and not only a size: not every file system can reserve what nobody has written. They must be on the disk, because some file
    // systems say only then that there is no room.
    file.write_all(&vec![0; SIZE])?;
    file.sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_given_back_once() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = Reserve::default();
        assert!(!reserve.release());
        reserve.take(directory.path());
        reserve.take(directory.path());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(reserve.release() && !reserve.release());
        reserve.take(&directory.path().join("missing"));
        assert!(!reserve.release());
    }
}
