//! The record of a published image: the one file from which it comes back after a restart.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use imagelib::digest::Digest;
use imagelib::recipe::{Recipe, RecipeError, RecipeId};
use serde::{Deserialize, Serialize};

use super::definition::BaseName;

const VERSION: u32 = 1;

/// The first second of the year 10000, which HTTP's dates cannot tell.
const END_OF_TIME: u64 = 253_402_300_800;

/// Why a file is not the record of the image that its name says.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    /// Not JSON, or not of a record. Says where, and never what: a record holds secrets.
    #[error("it is not a record of an image: line {line}, column {column}")]
    Json { line: usize, column: usize },
    /// Written by another version of dayone.
    #[error("it has version {0}; this dayone reads version {VERSION}")]
    Version(u32),
    /// A recipe that cannot be read.
    #[error("its recipe cannot be read: {0}")]
    Recipe(#[from] RecipeError),
    /// A recipe of another image.
    #[error("its recipe is that of the image {0}")]
    OtherImage(RecipeId),
    /// A time that is none.
    #[error("it says that it was made {0} seconds after 1970, which is past the year 9999")]
    Created(u64),
}

impl RecordError {
    /// Whether it is a sound record that another version of dayone would read.
    pub(super) fn is_other_version(&self) -> bool {
        matches!(self, Self::Version(_) | Self::Recipe(RecipeError::Version(_)))
    }
}

/// What is kept of a published image.
#[derive(Clone)]
pub(super) struct Record {
    /// When it was published first, in whole seconds: its `Last-Modified`.
    pub(super) created: SystemTime,
    /// What the base was called then; a data image has none. The recipe has its identity, which is what counts.
    pub(super) base: Option<BaseName>,
    /// What the user calls the host.
    pub(super) label: Option<String>,
    /// What the bytes of each file were then: the identities of the overlays.
    pub(super) files: BTreeMap<String, Digest>,
    /// All that decides the bytes.
    pub(super) recipe: Recipe,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordJson {
    version: u32,
    created: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<BaseName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    files: BTreeMap<String, Digest>,
    recipe: serde_json::Value,
}

#[derive(Deserialize)]
struct VersionJson {
    version: u32,
}

impl Record {
    /// The record as it is written: JSON, one line.
    pub(super) fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let created = self.created.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut json = serde_json::to_vec(&RecordJson {
            version: VERSION,
            created,
            base: self.base.clone(),
            label: self.label.clone(),
            files: self.files.clone(),
            recipe: serde_json::from_slice(&self.recipe.to_canonical_json())?,
        })?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads the record of the image `id`. Only the whole of what was written passes: the recipe must hash to `id`.
    pub(super) fn from_json(json: &[u8], id: &RecipeId) -> Result<Self, RecordError> {
        let place = |error: serde_json::Error| RecordError::Json { line: error.line(), column: error.column() };
        let VersionJson { version } = serde_json::from_slice(json).map_err(place)?;
        if version != VERSION {
            return Err(RecordError::Version(version));
        }
        let RecordJson { created, base, label, files, recipe, .. } = serde_json::from_slice(json).map_err(place)?;
        let recipe = Recipe::from_canonical_json(&serde_json::to_vec(&recipe).map_err(place)?)?;
        if recipe.id() != *id {
            return Err(RecordError::OtherImage(recipe.id()));
        }
        let created = (created < END_OF_TIME)
            .then(|| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(created)))
            .flatten()
            .ok_or(RecordError::Created(created))?;
        Ok(Self { created, base, label, files, recipe })
    }
}
