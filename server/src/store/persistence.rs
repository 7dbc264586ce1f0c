//! Whether the records of images survive the process.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use imagelib::recipe::{RecipeId, SealedRecipe};
use tracing::warn;

use super::directory::DataDirectory;
use super::error::StoreError;
use super::record::Record;
use super::record_files::{ReadError, RecordFile};

/// The time of publication of images in memory, in seconds since 1970: 1 January 2000.
///
/// Every replica publishes the same image again after every restart, and no record has the time of the first publication. Ironic
/// discards its cached copy if the file on the server is newer, so any time in the past is right while a URL stands for the same
/// bytes. If another version of dayone makes other bytes, rotate the key, so that Ironic fetches them. The time is after 1980,
/// because a client may set it on a file on FAT, which has no earlier times.
const CONSTANT: u64 = 946_684_800;

/// Where the records are.
#[derive(Debug)]
pub(super) enum Persistence {
    /// In a data directory.
    Directory(Arc<DataDirectory>),
    /// There are none: after a restart, somebody publishes the images again.
    None,
}

impl Persistence {
    /// The `Last-Modified` of an image that is published now.
    pub(super) fn time_of_publication(&self) -> SystemTime {
        match self {
            Self::Directory(_) => now(),
            Self::None => SystemTime::UNIX_EPOCH + Duration::from_secs(CONSTANT),
        }
    }

    /// Writes the record of an image, so that the image survives a restart.
    pub(super) fn keep(&self, record: &Record, recipe: &SealedRecipe) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        write(directory, &recipe.id(), &json(record, recipe)?)
    }

    /// Writes the record of an image anew, as [`keep`](Self::keep) does, also if the disk is full.
    pub(super) fn keep_in_reserve(&self, record: &Record, recipe: &SealedRecipe) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        let (id, json) = (recipe.id(), json(record, recipe)?);
        let written = directory.with_reserve(|| directory.write_record(&RecordFile::image(&id), &json));
        written.map_err(StoreError::Write)?;
        read_back(directory, &id, &json)
    }

    /// Writes the record of an image that has none yet, as [`keep`](Self::keep) does, together with those of other threads.
    pub(super) fn keep_new(&self, record: &Record, recipe: &SealedRecipe) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        let (id, json) = (recipe.id(), json(record, recipe)?);
        directory.write_new_record(&RecordFile::image(&id), &json).map_err(StoreError::Write)?;
        read_back(directory, &id, &json)
    }

    /// Writes the records of several images, as [`keep`](Self::keep) does for one, with fewer waits for the disk. Keeps either
    /// all of them or none.
    pub(super) fn keep_all(&self, records: &[(&Record, &SealedRecipe)]) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        let mut files = Vec::with_capacity(records.len());
        for (record, recipe) in records {
            files.push((RecordFile::image(&recipe.id()), json(record, recipe)?));
        }
        directory.write_new_records(&files).map_err(StoreError::Write)?;
        for (file, (_, recipe)) in files.iter().zip(records) {
            read_back(directory, &recipe.id(), &file.1)?;
        }
        Ok(())
    }

    /// Checks the record of a published image, and writes it again if somebody has removed or changed it.
    pub(super) fn confirm(&self, record: &Record, recipe: &SealedRecipe) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        let json = record.to_json(recipe).map_err(|error| StoreError::internal(&error))?;
        if holds(directory, &recipe.id(), &json)? {
            return Ok(());
        }
        warn!(image = %recipe.id(), "somebody removed or changed the record of a published image; dayone writes it again");
        write(directory, &recipe.id(), &json)
    }

    /// Removes the record of an image.
    pub(super) fn forget(&self, id: &RecipeId) -> Result<(), StoreError> {
        let Self::Directory(directory) = self else { return Ok(()) };
        directory.remove_record(&RecordFile::image(id)).map_err(StoreError::Write)?;
        Ok(())
    }

    /// The directory, for operations that need one.
    pub(super) fn directory(&self) -> io::Result<&DataDirectory> {
        match self {
            Self::Directory(directory) => Ok(directory.as_ref()),
            Self::None => Err(io::Error::new(io::ErrorKind::Unsupported, "there is no data directory")),
        }
    }
}

/// Writes the record of an image, and reads it back.
fn write(directory: &DataDirectory, id: &RecipeId, json: &[u8]) -> Result<(), StoreError> {
    directory.write_record(&RecordFile::image(id), json).map_err(StoreError::Write)?;
    read_back(directory, id, json)
}

/// Checks that a record is what was written.
fn read_back(directory: &DataDirectory, id: &RecipeId, json: &[u8]) -> Result<(), StoreError> {
    if holds(directory, id, json)? {
        return Ok(());
    }
    let message = "the record that was read back differs from the one that was written";
    Err(StoreError::Write(io::Error::new(io::ErrorKind::InvalidData, message)))
}

/// The text of a record that can be read back.
fn json(record: &Record, recipe: &SealedRecipe) -> Result<Vec<u8>, StoreError> {
    let json = record.to_json(recipe).map_err(|error| StoreError::internal(&error))?;
    // Some records can be written but not read: a JSON reader limits the depth of an Ignition config.
    Record::from_json(&json, &recipe.id()).map_err(|error| StoreError::internal(&error))?;
    Ok(json)
}

/// Whether the record of an image holds these bytes.
fn holds(directory: &DataDirectory, id: &RecipeId, json: &[u8]) -> Result<bool, StoreError> {
    match directory.read_record(&RecordFile::image(id)) {
        Ok(found) => Ok(found.is_some_and(|found| found == json)),
        // Somebody has changed the encrypted record.
        Err(ReadError::Decrypt(_)) => Ok(false),
        Err(ReadError::Io(error)) => Err(StoreError::Write(error)),
    }
}

/// The present time in whole seconds, because HTTP's dates have no fractions.
pub(super) fn now() -> SystemTime {
    whole_seconds(SystemTime::now())
}

/// The time without the fraction of its second.
pub(super) fn whole_seconds(time: SystemTime) -> SystemTime {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}
