//! Secrets in URLs: ASCII text of a fixed length.

use std::fmt;
use std::hash::{Hash, Hasher};

use subtle::ConstantTimeEq as _;

/// A credential in a URL. Anyone who has it can read the image, so there is no `Display`, and `Debug` shows only the
/// beginning.
///
/// A comparison takes the same time wherever two secrets differ. Maps look secrets up by a hash under a key that is
/// drawn at start (the standard library's `RandomState`). Response times therefore do not reveal how much of a guess is
/// right.
#[derive(Clone, Copy)]
pub struct UrlSecret<const LENGTH: usize>(pub(crate) [u8; LENGTH]);

impl<const LENGTH: usize> UrlSecret<LENGTH> {
    /// The whole secret. Use it only in the image's URL.
    pub fn as_str(&self) -> &str {
        // Only ASCII is stored.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The first six characters, which tell images apart in a log. Of a token, 100 bits remain to guess.
    pub fn shown(&self) -> &str {
        self.as_str().get(..6).unwrap_or_default()
    }
}

impl<const LENGTH: usize> PartialEq for UrlSecret<LENGTH> {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl<const LENGTH: usize> Eq for UrlSecret<LENGTH> {}

impl<const LENGTH: usize> Hash for UrlSecret<LENGTH> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl<const LENGTH: usize> fmt::Debug for UrlSecret<LENGTH> {
    /// Shows four characters. Of a token, 110 bits remain to guess.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…", self.as_str().get(..4).unwrap_or_default())
    }
}
