//! The rotation of the installation key, as the operator's command does it: it replaces the key's file.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::data_keys::DataKeys;
use super::durable;
use super::key::{InstallationKey, KeyError};
use super::key_file::{KeyFile, PreviousKey};
use super::key_rotation::{KeyLock, end_of, path_in};
use super::record_cipher::Form;
use super::record_files::RecordFile;

/// Why the key cannot be rotated.
#[derive(Debug, thiserror::Error)]
pub enum KeyCommandError {
    /// The key cannot be read or written.
    #[error("the installation key {}: {source}", path.display())]
    Key {
        /// The file of the key.
        path: PathBuf,
        /// The reason.
        source: KeyError,
    },
    /// There is no key.
    #[error(
        "there is no installation key {}: give the data directory of a server that has been started at least once (--data-dir DIR)",
        .0.display()
    )]
    NoKey(PathBuf),
    /// The previous rotation is not over.
    #[error(
        "the previous installation key is still there, and a data directory holds two keys at most: wait for the end of its grace \
         period (`dayone key show`), or end it with `dayone key end-grace` and try again when the server has removed the key"
    )]
    Underway,
    /// There is no previous key.
    #[error("there is no previous installation key, so no grace period to end")]
    NoPrevious,
}

/// The state of a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyState {
    /// The previous key, if it is still there.
    pub previous: Option<PreviousState>,
}

/// The state of a previous key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousState {
    /// How long its URLs are valid, in seconds.
    pub grace: u64,
    /// When they end. `None`: no server has taken the present key over yet.
    pub until: Option<SystemTime>,
}

/// Replaces the key in a data directory. A running server takes the new key over within seconds, and a stopped one when it starts.
/// From then on, URLs of the previous key are valid for `grace` seconds.
///
/// A crash at any moment leaves the file from before or the one after it.
pub fn rotate_key(data_dir: &Path, keys: &DataKeys, grace: u64) -> Result<KeyState, KeyCommandError> {
    replace(data_dir, keys, |file| {
        if file.previous.is_some() {
            return Err(KeyCommandError::Underway);
        }
        let key = |source| KeyCommandError::Key { path: path_in(data_dir), source };
        let current = InstallationKey::generate().map_err(key)?;
        let previous = PreviousKey { key: file.current, grace, taken_over: None };
        Ok(KeyFile { current, previous: Some(previous) })
    })
}

/// Ends the grace period of a rotation: URLs of the previous key are not valid any more.
pub fn end_grace(data_dir: &Path, keys: &DataKeys) -> Result<KeyState, KeyCommandError> {
    replace(data_dir, keys, |file| {
        let previous = file.previous.ok_or(KeyCommandError::NoPrevious)?;
        Ok(KeyFile { previous: Some(PreviousKey { grace: 0, ..previous }), ..file })
    })
}

/// The state of the key in a data directory.
pub fn key_state(data_dir: &Path, keys: &DataKeys) -> Result<KeyState, KeyCommandError> {
    read(data_dir, keys).map(|(file, _)| state(&file))
}

fn read(data_dir: &Path, keys: &DataKeys) -> Result<(KeyFile, Form), KeyCommandError> {
    let path = path_in(data_dir);
    match KeyFile::read_with_form(&path, keys) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(KeyCommandError::NoKey(path)),
        Err(source) => Err(KeyCommandError::Key { path, source }),
    }
}

fn replace(
    data_dir: &Path,
    keys: &DataKeys,
    change: impl FnOnce(KeyFile) -> Result<KeyFile, KeyCommandError>,
) -> Result<KeyState, KeyCommandError> {
    let path = path_in(data_dir);
    let failed = |source: io::Error| KeyCommandError::Key { path: path.clone(), source: source.into() };
    // Without the directory, there is no key either, and that says more.
    let _lock = KeyLock::wait(data_dir).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KeyCommandError::NoKey(path.clone()),
        _ => failed(error),
    })?;
    let (file, form) = read(data_dir, keys)?;
    let file = change(file)?;
    let bytes = match form {
        // A server without keys must be able to read it.
        Form::Plain => file.to_bytes(),
        Form::Encrypted(_) => {
            let RecordFile { kind, name } = RecordFile::installation_key();
            keys.encrypt(kind, &name, &file.to_bytes()).map_err(|error| failed(error.into()))?
        }
    };
    write_as_its_owner(&path, &bytes).map_err(failed)?;
    Ok(state(&file))
}

/// Replaces the file durably. The new file has the owner of the old one: root may run the command, and the server must be able to
/// read its key.
fn write_as_its_owner(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let owner = fs::metadata(path)?;
    let mut file = durable::unfinished_in(path)?;
    let own = file.as_file().metadata()?;
    if (own.uid(), own.gid()) != (owner.uid(), owner.gid()) {
        std::os::unix::fs::fchown(file.as_file(), Some(owner.uid()), Some(owner.gid()))?;
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    durable::sync_parent(path)
}

fn state(file: &KeyFile) -> KeyState {
    let previous = file.previous.as_ref();
    KeyState { previous: previous.map(|previous| PreviousState { grace: previous.grace, until: end_of(previous) }) }
}
