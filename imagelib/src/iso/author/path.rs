//! Paths of files in a new image.

use std::str::FromStr;

use super::AuthorError;
use vocabulary::checked_text;

/// Levels of directories, the root being the first (ECMA-119 §6.8.2.1).
const MAX_LEVELS: usize = 8;

/// The most UTF-16 units of a Joliet name that fit a directory record beside its version. Joliet itself says 64, and
/// every reader takes as many as these.
const MAX_JOLIET_UNITS: usize = 103;

/// The most bytes of a Rock Ridge name that fit the directory record.
const MAX_ROCK_RIDGE_BYTES: usize = 128;

/// A path such as `EFI/BOOT/grub.cfg`, relative to the root, whose every name is the same with Rock Ridge and Joliet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IsoPath(String);

checked_text!(IsoPath, AuthorError);

impl IsoPath {
    /// The names of its directories and, last, of the file.
    pub(super) fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl FromStr for IsoPath {
    type Err = AuthorError;

    fn from_str(text: &str) -> Result<Self, AuthorError> {
        let refuse = |reason| Err(AuthorError::Path { path: text.to_owned(), reason });
        for name in text.split('/') {
            if matches!(name, "" | "." | "..") {
                return refuse("each part between slashes is a name, and no slash begins or ends it");
            }
            if name.chars().any(|c| c.is_control() || matches!(c, '*' | ':' | ';' | '?' | '\\')) {
                return refuse("it holds a control character or one of * : ; ? \\, which Joliet does not allow");
            }
            if name.encode_utf16().count() > MAX_JOLIET_UNITS || name.len() > MAX_ROCK_RIDGE_BYTES {
                return refuse("a name in it is longer than 103 characters or 128 bytes");
            }
        }
        // The file is one level below its directory.
        if text.split('/').count() > MAX_LEVELS {
            return refuse("it is nested deeper than the eight levels that ISO 9660 allows");
        }
        Ok(Self(text.to_owned()))
    }
}
