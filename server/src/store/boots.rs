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

    /// Derives a key for one purpose from the installation key.
    pub(crate) fn derived_key(&self, purpose: &[u8]) -> [u8; 32] {
        self.keys().current.derive(purpose)
    }

    /// Derives a key for one purpose from the previous installation key, if there is one.
    pub(crate) fn previous_derived_key(&self, purpose: &[u8]) -> Option<[u8; 32]> {
        self.keys().other.as_ref().map(|other| other.key.derive(purpose))
    }

    /// The token in the URLs of an image, published or not.
    pub(crate) fn media_token(&self, image: &RecipeId) -> MediaToken {
        self.keys().current.token(image)
    }

    /// The token in the URLs of an image before a rotation whose previous key is still there. Without one, the present token.
    pub(crate) fn earliest_media_token(&self, image: &RecipeId) -> MediaToken {
        let keys = self.keys();
        keys.other_token(image).unwrap_or_else(|| keys.current.token(image))
    }

    fn boot(&self, name: &str) -> io::Result<PathBuf> {
        Ok(self.persistence.directory()?.boots().join(format!("{name}.json")))
    }
}
