//! The files in which boots are recorded, one for each. What is in them is not the store's business.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use imagelib::recipe::RecipeId;
use media::MediaToken;
use tracing::warn;

use super::Store;

/// More than the record of any boot is.
const LARGEST: u64 = 1 << 20;

impl Store {
    /// Writes the record of the boot `name`, or replaces it. When this returns, it outlives a power failure.
    pub(crate) fn write_boot(&self, name: &str, record: &[u8]) -> io::Result<()> {
        self.persistence.directory()?.write(&self.boot(name)?, record)
    }

    /// Removes the record of the boot `name`. False: it was not there.
    pub(crate) fn remove_boot(&self, name: &str) -> io::Result<bool> {
        self.persistence.directory()?.remove(&self.boot(name)?)
    }

    /// Moves the record of the boot `name` out of the way, to `damaged/`, and says where to.
    pub(crate) fn set_boot_aside(&self, name: &str) -> io::Result<PathBuf> {
        self.persistence.directory()?.set_aside(&self.boot(name)?)
    }

    /// All records, with the names of their boots.
    pub(crate) fn read_boots(&self) -> io::Result<Vec<(String, io::Result<Vec<u8>>)>> {
        let mut records = Vec::new();
        for entry in fs::read_dir(self.persistence.directory()?.boots())? {
            let path = entry?.path();
            let Some(name) = boot_of(&path) else {
                warn!(path = %path.display(), "not a record of a boot; left alone");
                continue;
            };
            records.push((name, read(&path)));
        }
        Ok(records)
    }

    /// A key of the installation for one purpose.
    pub(crate) fn derived_key(&self, purpose: &[u8]) -> [u8; 32] {
        self.key.derive(purpose)
    }

    /// The token in the URLs of an image, published or not.
    pub(crate) fn media_token(&self, image: &RecipeId) -> MediaToken {
        self.key.token(image)
    }

    fn boot(&self, name: &str) -> io::Result<PathBuf> {
        Ok(self.persistence.directory()?.boots().join(format!("{name}.json")))
    }
}

fn boot_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()).then(|| name.to_owned())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    if path.metadata()?.len() > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {LARGEST} bytes")));
    }
    fs::read(path)
}
