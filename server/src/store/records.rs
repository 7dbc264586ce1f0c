//! Reading all records at start. Nothing that is found there keeps the server from starting.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use imagelib::recipe::{Recipe, RecipeId, SealedRecipe};
use tracing::warn;

use super::directory::{DataDirectory, DirectoryError};
use super::record::{Record, RecordError};

/// More than any record is: the API takes no document of this size.
const LARGEST: u64 = 64 << 20;

/// What was found.
pub(super) struct Records {
    /// The images, each with its recipe and its record, or why this version of dayone cannot read them.
    pub(super) found: BTreeMap<RecipeId, Result<(Recipe, Record), String>>,
    damaged: usize,
}

impl Records {
    /// Whether no image was ever published here, as far as can be seen.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.damaged == 0
    }
}

/// The name of an image's record.
pub(super) fn file_name(id: &RecipeId) -> String {
    format!("{id}.json")
}

/// Reads all records. Damaged ones are set aside, what is no record is left where it is; both are logged.
pub(super) fn load(directory: &DataDirectory) -> Result<Records, DirectoryError> {
    let images = directory.images();
    let failed = |source| DirectoryError::Io { path: images.clone(), source };
    let mut records = Records { found: BTreeMap::new(), damaged: 0 };
    for entry in fs::read_dir(&images).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let shown = path.display();
        let Some(id) = image_of(&path) else {
            warn!(path = %shown, "not a record of an image; left alone");
            continue;
        };
        match read(&path, &id) {
            Ok(Ok((recipe, record))) => {
                records.found.insert(id, Ok((recipe.into_recipe(), record)));
            }
            Ok(Err(error)) if error.is_other_version() => {
                warn!(path = %shown, %error, "image is not served: another version of dayone published it");
                records.found.insert(id, Err(error.to_string()));
            }
            Ok(Err(error)) => {
                records.damaged += 1;
                match directory.set_aside(&path) {
                    Ok(to) => warn!(path = %shown, %error, to = %to.display(), "damaged record of an image set aside"),
                    Err(failure) => warn!(path = %shown, %error, %failure, "damaged record of an image left alone"),
                }
            }
            // It may be readable again later.
            Err(error) => {
                warn!(path = %shown, %error, "the record of an image cannot be read; the image is not served");
                records.found.insert(id, Err(format!("its record cannot be read: {error}")));
            }
        }
    }
    Ok(records)
}

/// The image whose record has this name.
fn image_of(path: &Path) -> Option<RecipeId> {
    let id = path.file_name()?.to_str()?.strip_suffix(".json")?;
    id.parse().ok().filter(|_| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()))
}

fn read(path: &Path, id: &RecipeId) -> io::Result<Result<(SealedRecipe, Record), RecordError>> {
    if path.metadata()?.len() > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {LARGEST} bytes")));
    }
    Ok(Record::from_json(&fs::read(path)?, id))
}
