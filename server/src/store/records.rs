//! Reads the records of all images at the start. The server starts whatever it finds.

use std::collections::BTreeMap;
use std::error::Error;

use hosts::parallel;
use imagelib::recipe::RecipeId;
use tracing::warn;

use super::data_keys::DecryptError;
use super::directory::{DataDirectory, DirectoryError};
use super::packed_recipe::PackedRecipe;
use super::record::Record;
use super::record_cipher::RecordKind;
use super::record_files::{ReadError, RecordFile};

/// The maximum size of a record, in bytes. The API accepts no document of this size.
const MAX_RECORD_BYTES: u64 = 64 << 20;

/// How many records a thread reads before it takes the next ones.
const AT_ONCE: usize = 64;

/// The records that were found.
pub(super) struct Records {
    /// The images, each with its recipe and its record, or why this version of dayone cannot read them.
    pub(super) found: BTreeMap<RecipeId, Result<(PackedRecipe, Record), String>>,
    damaged: usize,
}

impl Records {
    /// Whether this directory shows no sign that an image was ever published.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.damaged == 0
    }
}

/// Reads all records. Sets damaged ones aside, and leaves other files where they are. Logs both.
pub(super) fn load(data: &DataDirectory) -> Result<Records, DirectoryError> {
    let listed = data.records(RecordKind::Image, |name| name.parse().ok());
    let listed: Vec<RecipeId> = listed.map_err(|source| DirectoryError::Io { path: data.images(), source })?;
    let mut records = Records { found: BTreeMap::new(), damaged: 0 };
    for (id, found) in listed.iter().zip(parallel::each(&listed, AT_ONCE, |id| read(data, id))) {
        match found {
            Some(found) => drop(records.found.insert(*id, found)),
            None => records.damaged += 1,
        }
    }
    Ok(records)
}

/// Reads a record. `None` if it is damaged.
fn read(data: &DataDirectory, id: &RecipeId) -> Option<Result<(PackedRecipe, Record), String>> {
    let file = RecordFile::image(id);
    let path = data.path_of(&file);
    let shown = path.display();
    let json = match data.load_record(&file, MAX_RECORD_BYTES) {
        Ok(json) => json,
        Err(ReadError::Decrypt(error @ DecryptError::Changed)) => {
            set_aside(data, &file, &error);
            return None;
        }
        // The file may be readable again later, so it stays.
        Err(error) => {
            warn!(path = %shown, %error, "cannot read the record of an image; dayone does not serve the image");
            return Some(Err(format!("its record cannot be read: {error}")));
        }
    };
    match Record::from_json(&json, id) {
        Ok((recipe, record)) => Some(Ok((PackedRecipe::of(&recipe), record))),
        Err(error) if error.is_other_version() => {
            warn!(path = %shown, %error, "another version of dayone published this image; dayone does not serve it");
            Some(Err(error.to_string()))
        }
        Err(error) => {
            set_aside(data, &file, &error);
            None
        }
    }
}

fn set_aside(data: &DataDirectory, file: &RecordFile, error: &dyn Error) {
    let path = data.path_of(file);
    let shown = path.display();
    match data.set_aside(file) {
        Ok(to) => warn!(path = %shown, %error, to = %to.display(), "set a damaged record of an image aside"),
        Err(failure) => warn!(path = %shown, %error, %failure, "cannot set a damaged record of an image aside"),
    }
}
