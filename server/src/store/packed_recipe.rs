//! The recipe of a published image in memory. A server may have ten thousand, and most of them are never read: so it is compressed
//! into one piece of memory, which a plan takes a few microseconds to unpack.

use imagelib::base::{BaseIdentity, Format};
use imagelib::recipe::{PartOrder, RecipeError, SealedRecipe};
use lz4_flex::block::{DecompressError, compress_prepend_size, decompress_size_prepended};

/// A recipe, compressed, and what is asked of it often.
pub(super) struct PackedRecipe {
    pub(super) base: BaseIdentity,
    pub(super) format: Format,
    pub(super) order: PartOrder,
    pub(super) holds_its_url: bool,
    pub(super) has_keyfiles: bool,
    canonical: Box<[u8]>,
}

/// Why a recipe cannot be unpacked: a mistake in dayone, or broken memory.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The compressed form is damaged.
    #[error("the recipe in memory is damaged: {0}")]
    Damaged(#[from] DecompressError),
    /// It is not a recipe.
    #[error("the recipe in memory is damaged: {0}")]
    Recipe(#[from] RecipeError),
}

impl PackedRecipe {
    pub(super) fn of(sealed: &SealedRecipe) -> Self {
        let recipe = sealed.recipe();
        Self {
            base: recipe.base,
            format: recipe.format,
            order: recipe.order,
            holds_its_url: recipe.holds_its_url(),
            has_keyfiles: !recipe.additions.keyfiles.is_empty(),
            canonical: compress_prepend_size(sealed.canonical_json()).into_boxed_slice(),
        }
    }

    pub(super) fn unpack(&self) -> Result<SealedRecipe, UnpackError> {
        Ok(SealedRecipe::from_canonical_json(&decompress_size_prepended(&self.canonical)?)?)
    }
}
