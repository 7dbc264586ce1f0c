//! The canonical form of a recipe and its id.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{PartOrder, Recipe, RecipeId};
use crate::digest::Digest;

/// The version of the canonical form. A change of the way an image is made does not raise it, since that would give all images other ids:
/// a published image that would get other bytes answers 503, and `CHANGELOG.md` names the bases.
const VERSION: u32 = 1;

/// The version of recipes with signatures of addons. A dayone that knows no addons must not take such a recipe for a damaged one.
const WITH_SIGNATURES: u32 = 2;

/// The version of recipes with the network of an initramfs, and perhaps with signatures, for the same reason.
const WITH_INITRAMFS_NETWORK: u32 = 3;

/// The versions of recipes from which this dayone makes images.
pub const VERSIONS: RangeInclusive<u32> = VERSION..=WITH_INITRAMFS_NETWORK;

/// Why stored bytes are not a recipe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// Not the JSON of a recipe.
    #[error("not a recipe: line {line}, column {column}")]
    Json {
        /// Line of the offending byte, from 1.
        line: usize,
        /// Column of the offending byte, from 1.
        column: usize,
    },
    /// The recipe has another version.
    #[error(
        "the recipe has version {0}; this dayone makes images from the versions {VERSION} to {WITH_INITRAMFS_NETWORK}"
    )]
    Version(u32),
    /// The recipe has signatures or a network of an initramfs although its version has none, or the reverse.
    #[error("the version of the recipe does not fit its parts")]
    Parts,
}

impl From<serde_json::Error> for RecipeError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json { line: error.line(), column: error.column() }
    }
}

#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    recipe: &'a Recipe,
}

#[derive(Deserialize)]
struct VersionedJson<'a> {
    version: u32,
    #[serde(borrow)]
    recipe: &'a RawValue,
}

/// A recipe that no longer changes, with its canonical form and its identity. Both are computed once, when the recipe is
/// sealed.
///
/// The canonical form is compact JSON with its members in a fixed order, and all parts of the recipe in its
/// [order](PartOrder). The identity is the SHA-256 of these bytes.
#[derive(Clone, PartialEq)]
pub struct SealedRecipe {
    recipe: Recipe,
    canonical: Vec<u8>,
    id: RecipeId,
}

impl SealedRecipe {
    fn new(recipe: Recipe, canonical: Vec<u8>) -> Self {
        let id = RecipeId(Digest::of(&canonical));
        Self { recipe, canonical, id }
    }

    /// Reads the canonical form. A recipe from an earlier dayone keeps the order in which its parts were given. Errors name
    /// places, never contents.
    ///
    /// The id is computed from `json`, so compare it with the one that you expect.
    pub fn from_canonical_json(json: &[u8]) -> Result<Self, RecipeError> {
        let VersionedJson { version, recipe } = serde_json::from_slice(json)?;
        if !VERSIONS.contains(&version) {
            return Err(RecipeError::Version(version));
        }
        let as_given = Recipe { order: PartOrder::AsGiven, ..serde_json::from_str(recipe.get())? };
        if as_given.version() != version {
            return Err(RecipeError::Parts);
        }
        let bytes = as_given.to_canonical_json();
        let ordered = as_given.in_canonical_order();
        let recipe = if ordered.to_canonical_json() == bytes { ordered } else { as_given };
        Ok(Self::new(recipe, bytes))
    }

    /// The identity.
    pub fn id(&self) -> RecipeId {
        self.id
    }

    /// The bytes whose SHA-256 is the id. They contain the recipe's secrets.
    pub fn canonical_json(&self) -> &[u8] {
        &self.canonical
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }
}

debug_only!(SealedRecipe { id, recipe });

impl Recipe {
    /// Writes the canonical form and computes the id.
    pub fn seal(self) -> SealedRecipe {
        let canonical = self.to_canonical_json();
        SealedRecipe::new(self, canonical)
    }

    /// The recipe's id, for callers that need nothing else: see [`seal`](Self::seal). The same content in any order has the
    /// same id.
    pub fn id(&self) -> RecipeId {
        RecipeId(Digest::of(&self.to_canonical_json()))
    }

    fn version(&self) -> u32 {
        match (&self.initramfs_network, &self.addon_signatures) {
            (Some(_), _) => WITH_INITRAMFS_NETWORK,
            (None, Some(_)) => WITH_SIGNATURES,
            (None, None) => VERSION,
        }
    }

    fn to_canonical_json(&self) -> Vec<u8> {
        // Serialising to memory fails only for maps whose keys are not texts, which a recipe has none of.
        serde_json::to_vec(&Versioned { version: self.version(), recipe: &self.arranged() }).unwrap_or_default()
    }
}
