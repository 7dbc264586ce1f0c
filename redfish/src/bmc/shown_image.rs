//! How a slot shows an image, if it does not show the URL.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::state::MediaState;

/// What a slot showed as `Image` after an image was inserted, where that is not the image's URL: some BMCs show only the name of the file,
/// or a shortened URL. It may contain a part of the URL, which is a secret, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownImage(String);

impl ShownImage {
    /// How a slot shows the image at this URL. `None` if it shows the URL, or nothing.
    pub fn of(state: &MediaState, image_url: &str) -> Option<Self> {
        state.image.clone().filter(|_| !state.names(image_url)).map(Self)
    }

    /// Whether a slot shows it.
    pub fn is_in(&self, state: &MediaState) -> bool {
        state.image.as_ref() == Some(&self.0)
    }
}

impl fmt::Debug for ShownImage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ShownImage(…)")
    }
}
