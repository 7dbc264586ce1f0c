//! Whether the records of images outlive the process.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use imagelib::recipe::{RecipeId, SealedRecipe};
use tracing::warn;

use super::directory::DataDirectory;
use super::error::StoreError;
use super::record::Record;
use super::records;
use super::storage::StorageTrouble;

/// When images in memory were published, in seconds since 1970: the first of January 2000.
///
/// The same image is published by every replica and after every restart, and nobody keeps when it was first. A URL
/// stands for the same bytes for ever, so any one time is true of them, as long as it is in the past of whoever asks:
/// Ironic takes its cached copy for stale if the file on the server is newer. It is not earlier, since a client may give it
/// to a file on FAT, which knows no time before 1980.
const CONSTANT: u64 = 946_684_800;

/// Where records are.
#[derive(Debug)]
pub(super) enum Persistence {
    /// In a data directory.
    Directory(Arc<DataDirectory>),
    /// Nowhere: whoever publishes does so again after a restart.
    Nowhere,
}

impl Persistence {
    /// What an image's `Last-Modified` is if it is published now.
    pub(super) fn time_of_publication(&self) -> SystemTime {
        match self {
            Self::Directory(_) => now(),
            Self::Nowhere => SystemTime::UNIX_EPOCH + Duration::from_secs(CONSTANT),
        }
    }

    /// Makes sure that an image comes back after a restart, where it should.
    pub(super) fn keep(&self, record: &Record, recipe: &SealedRecipe) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        let json = record.to_json(recipe).map_err(|error| StoreError::internal(&error))?;
        // Not everything that can be written can be read: JSON readers go only so deep into an Ignition config.
        Record::from_json(&json, &recipe.id()).map_err(|error| StoreError::internal(&error))?;
        write(directory, &recipe.id(), &json)
    }

    /// Makes sure that an image that is published already still comes back after a restart: its record may have been
    /// removed or changed since.
    pub(super) fn confirm(&self, record: &Record, recipe: &SealedRecipe) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        let json = record.to_json(recipe).map_err(|error| StoreError::internal(&error))?;
        if holds(directory, &recipe.id(), &json)? {
            return Ok(());
        }
        warn!(image = %recipe.id(), "the record of a published image was removed or changed; it is written again");
        write(directory, &recipe.id(), &json)
    }

    /// Why nothing can be kept at the moment; none where it can, or where nothing is kept.
    pub(super) fn trouble(&self) -> Option<StorageTrouble> {
        match self {
            Self::Directory(directory) => directory.trouble(),
            Self::Nowhere => None,
        }
    }

    /// Tries whether records can be kept. Waits for the disk.
    pub(super) fn try_out(&self) {
        if let Self::Directory(directory) = self {
            directory.try_out();
        }
    }

    /// Makes sure that an image does not come back.
    pub(super) fn forget(&self, id: &RecipeId) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        directory.remove(&path(directory, id)).map_err(StoreError::Write)?;
        Ok(())
    }

    /// The directory, for what makes no sense without one.
    pub(super) fn directory(&self) -> io::Result<&DataDirectory> {
        match self {
            Self::Directory(directory) => Ok(directory.as_ref()),
            Self::Nowhere => Err(io::Error::new(io::ErrorKind::Unsupported, "there is no data directory")),
        }
    }
}

/// Writes the record of an image, and reads it back.
fn write(directory: &DataDirectory, id: &RecipeId, json: &[u8]) -> Result<(), StoreError> {
    directory.write(&path(directory, id), json).map_err(StoreError::Write)?;
    if holds(directory, id, json)? {
        return Ok(());
    }
    Err(StoreError::Write(io::Error::new(
        io::ErrorKind::InvalidData,
        "the record reads back other than it was written",
    )))
}

/// Whether the record of an image has these bytes.
fn holds(directory: &DataDirectory, id: &RecipeId, json: &[u8]) -> Result<bool, StoreError> {
    let there = directory.read(&path(directory, id)).map_err(StoreError::Write)?;
    Ok(there.is_some_and(|there| there == json))
}

fn path(directory: &DataDirectory, id: &RecipeId) -> PathBuf {
    directory.images().join(records::file_name(id))
}

/// In whole seconds, since HTTP's dates have no fractions.
pub(super) fn now() -> SystemTime {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}
