//! Reads files that decide who may use the API.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::secret_file;

/// Why dayone does not use a file.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// dayone cannot read the file.
    #[error("cannot read the {what} {}: {source}", path.display())]
    Read {
        /// What kind of file it is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Its permission bits let too many read or change it.
    #[error(
        "others than its owner and its group may read the {what} {}, or others than its owner may change it (mode {mode:04o}), and anyone \
         who can do that can use the API; run chmod 600 on it", path.display()
    )]
    Mode {
        /// What kind of file it is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The permission bits.
        mode: u32,
    },
}

/// Reads a text that only the owner of the file may change, and only its owner and its group may read. `what` names the kind of file in errors.
pub(super) fn read(path: &Path, what: &'static str) -> Result<String, SecretFileError> {
    let failed = |source| SecretFileError::Read { what, path: path.to_owned(), source };
    let opened = secret_file::open(path).map_err(failed)?;
    let mut file = opened.map_err(|mode| SecretFileError::Mode { what, path: path.to_owned(), mode })?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    // Some editors put a byte order mark there, which would be part of the first token.
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}
