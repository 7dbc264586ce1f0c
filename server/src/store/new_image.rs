//! An image to publish.

use imagelib::recipe::SealedRecipe;
use media::access::AccessLimits;

use super::definition::BaseName;

/// An image to publish.
pub struct NewImage {
    /// The name of its base; a data image has none.
    pub base: Option<BaseName>,
    /// Its recipe.
    pub recipe: SealedRecipe,
    /// The user's name for the host.
    pub label: Option<String>,
    /// The limits on the access to the image.
    pub limits: AccessLimits,
}
