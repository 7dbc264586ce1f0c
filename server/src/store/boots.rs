//! The files with the records of boots. The store does not interpret their content.

use std::io;
use std::path::PathBuf;

use imagelib::recipe::RecipeId;
use media::MediaToken;

use super::Store;
use super::data_keys::DecryptError;
use super::record_cipher::RecordKind;
use super::record_files::{ReadError, RecordFile};

/// The maximum size of a record, in bytes: larger than that of any boot.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// What the file of a boot's record holds.
pub(crate) enum BootFile {
    /// A record.
    Record(Vec<u8>),
    /// Nothing that dayone has encrypted for this boot.
    Changed(DecryptError),
}

impl Store {
    /// Writes the records of new boots, with their names: all of them or none. When this returns, the records survive a power failure.
    pub(crate) fn write_new_boots(&self, boots: Vec<(String, Vec<u8>)>) -> io::Result<()> {
        let records: Vec<_> = boots.into_iter().map(|(name, record)| (RecordFile::boot(&name), record)).collect();
        self.persistence.directory()?.write_new_records(&records)
    }

    /// Writes or replaces the records of boots, which wait for the disk together. Returns the result of each. When this returns, those
    /// that were written survive a power failure.
    pub(crate) fn write_boots(&self, boots: &[(&str, &[u8])]) -> Vec<io::Result<()>> {
        let records: Vec<_> = boots.iter().map(|(name, record)| (RecordFile::boot(name), *record)).collect();
        let together = self.persistence.directory().and_then(|directory| directory.write_records(&records));
        if together.is_ok() {
            return boots.iter().map(|_| Ok(())).collect();
        }
        // The disk may still take some of them.
        let alone = |(file, record)| self.persistence.directory()?.write_record(file, record);
        records.iter().map(|(file, record)| alone((file, record))).collect()
    }

    /// Removes the record of the boot `name`. Returns whether it existed.
    pub(crate) fn remove_boot(&self, name: &str) -> io::Result<bool> {
        self.persistence.directory()?.remove_record(&RecordFile::boot(name))
    }

    /// Moves the record of the boot `name` to `damaged/`, and returns its new path.
    pub(crate) fn set_boot_aside(&self, name: &str) -> io::Result<PathBuf> {
        self.persistence.directory()?.set_aside(&RecordFile::boot(name))
    }

    /// Reads all records, with the names of their boots.
    pub(crate) fn read_boots(&self) -> io::Result<Vec<(String, io::Result<BootFile>)>> {
        let directory = self.persistence.directory()?;
        let read = |name: String| {
            let read = match directory.load_record(&RecordFile::boot(&name), MAX_RECORD_BYTES) {
                Ok(json) => Ok(BootFile::Record(json)),
                Err(ReadError::Decrypt(error @ DecryptError::Changed)) => Ok(BootFile::Changed(error)),
                Err(ReadError::Decrypt(error)) => Err(error.into()),
                Err(ReadError::Io(error)) => Err(error),
            };
            (name, read)
        };
        Ok(directory.records(RecordKind::Boot, |name| Some(name.to_owned()))?.into_iter().map(read).collect())
    }

    /// Derives keys for one purpose: from the present installation key, and from the previous one, if it is still there.
    pub(crate) fn derived_keys(&self, purpose: &[u8]) -> ([u8; 32], Option<[u8; 32]>) {
        let keys = self.keys();
        (keys.current.derive(purpose), keys.other.as_ref().map(|other| other.key.derive(purpose)))
    }

    /// The token in the URLs of an image, published or not, before the rotation whose previous key is still there. Without a
    /// previous key, it is the present token.
    pub(crate) fn earliest_media_token(&self, image: &RecipeId) -> MediaToken {
        let keys = self.keys();
        keys.other_token(image).unwrap_or_else(|| keys.current.token(image))
    }

    /// Whether a previous installation key is still there, so that a record must say what it got from which key.
    pub(crate) fn has_previous_key(&self) -> bool {
        self.keys().other.is_some()
    }
}
