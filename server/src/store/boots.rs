//! The files with the records of boots. The store does not interpret their content.

use std::io;
use std::path::PathBuf;

use imagelib::recipe::RecipeId;
use media::MediaToken;

use super::{Store, directory};

/// Larger than the record of any boot.
const LARGEST: u64 = 1 << 20;

impl Store {
    /// Writes or replaces the record of the boot `name`. When this returns, the record survives a power failure.
    pub(crate) fn write_boot(&self, name: &str, record: &[u8]) -> io::Result<()> {
        self.persistence.directory()?.write(&self.boot(name)?, record)
    }

    /// Removes the record of the boot `name`. Returns whether it existed.
    pub(crate) fn remove_boot(&self, name: &str) -> io::Result<bool> {
        self.persistence.directory()?.remove(&self.boot(name)?)
    }

    /// Moves the record of the boot `name` to `damaged/`, and returns its new path.
    pub(crate) fn set_boot_aside(&self, name: &str) -> io::Result<PathBuf> {
        self.persistence.directory()?.set_aside(&self.boot(name)?)
    }

    /// Reads all records, with the names of their boots.
    pub(crate) fn read_boots(&self) -> io::Result<Vec<(String, io::Result<Vec<u8>>)>> {
        let records = directory::records(&self.persistence.directory()?.boots(), |name| Some(name.to_owned()))?;
        let read = |(name, path): (String, PathBuf)| (name, directory::read_limited(&path, LARGEST));
        Ok(records.into_iter().map(read).collect())
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

    fn boot(&self, name: &str) -> io::Result<PathBuf> {
        Ok(self.persistence.directory()?.boots().join(format!("{name}.json")))
    }
}
