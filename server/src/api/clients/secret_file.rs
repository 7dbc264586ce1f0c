//! Reads files that decide who may use the API.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

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
    /// Its permission bits let somebody else than the owner read or change it.
    #[error(
        "not only its owner may use the {what} {} (mode {mode:04o}), and anyone who can read or change it can use the API; run \
         chmod 600 on it", path.display()
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

/// Reads a text that only the owner of the file may read or change. `what` names the kind of file in errors.
pub(super) fn read(path: &Path, what: &'static str) -> Result<String, SecretFileError> {
    let failed = |source| SecretFileError::Read { what, path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretFileError::Mode { what, path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}
