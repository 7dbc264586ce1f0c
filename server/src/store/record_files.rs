//! The files of a data directory that are encrypted if there is a key: where they are, and how dayone writes and reads them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use imagelib::recipe::RecipeId;
use tracing::warn;

use super::base_record::BaseVersion;
use super::data_keys::DecryptError;
use super::directory::{DataDirectory, read_limited};
use super::durable;
use super::record_cipher::{Form, RecordKind};

/// The end of the names of records.
const SUFFIX: &str = ".json";

/// One of these files. Its name, without the end, is what it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordFile {
    pub(super) kind: RecordKind,
    pub(super) name: String,
}

/// Why the content of a file is not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// The file may be readable later.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file cannot be decrypted.
    #[error("{0}")]
    Decrypt(#[from] DecryptError),
}

impl RecordFile {
    /// The record of an image.
    pub(super) fn image(id: &RecipeId) -> Self {
        Self { kind: RecordKind::Image, name: id.to_string() }
    }

    /// The record of the boot `name`.
    pub(super) fn boot(name: &str) -> Self {
        Self { kind: RecordKind::Boot, name: name.to_owned() }
    }

    /// The record of an added base.
    pub(super) fn base(version: BaseVersion) -> Self {
        Self { kind: RecordKind::Base, name: version.to_string() }
    }

    /// The installation key.
    pub(super) fn installation_key() -> Self {
        Self { kind: RecordKind::InstallationKey, name: "key".to_owned() }
    }

    /// A file in `damaged/`.
    pub(super) fn damaged(name: &str) -> Self {
        Self { kind: RecordKind::Damaged, name: name.to_owned() }
    }

    /// The file that the record of a directory with this file name is; `None` if it is none.
    pub(super) fn in_directory(kind: RecordKind, file_name: &str) -> Option<Self> {
        let name = match kind {
            RecordKind::Damaged | RecordKind::InstallationKey => file_name,
            RecordKind::Image | RecordKind::Boot | RecordKind::Base => file_name.strip_suffix(SUFFIX)?,
        };
        let is_name = match kind {
            RecordKind::Image => name.parse::<RecipeId>().is_ok(),
            RecordKind::Base => name.parse::<BaseVersion>().is_ok(),
            RecordKind::Boot | RecordKind::Damaged | RecordKind::InstallationKey => true,
        };
        is_name.then(|| Self { kind, name: name.to_owned() })
    }
}

impl DataDirectory {
    /// The path of a file.
    pub(super) fn path_of(&self, file: &RecordFile) -> PathBuf {
        let RecordFile { kind, name } = file;
        match kind {
            RecordKind::InstallationKey => self.key(),
            RecordKind::Damaged => self.damaged().join(name),
            RecordKind::Image | RecordKind::Boot | RecordKind::Base => {
                self.directory_of(*kind).join(format!("{name}{SUFFIX}"))
            }
        }
    }

    /// The directory with the files of this kind.
    pub(super) fn directory_of(&self, kind: RecordKind) -> PathBuf {
        match kind {
            RecordKind::Image => self.images(),
            RecordKind::Boot => self.boots(),
            RecordKind::Base => self.bases(),
            RecordKind::InstallationKey => self.root().to_owned(),
            RecordKind::Damaged => self.damaged(),
        }
    }

    /// Writes or replaces a file. When this returns, it survives a power failure.
    pub(super) fn write_record(&self, file: &RecordFile, plain: &[u8]) -> io::Result<()> {
        self.write(&self.path_of(file), &self.encrypted(file, plain)?)
    }

    /// Writes a new file, together with those of other threads. When this returns, it survives a power failure.
    pub(super) fn write_new_record(&self, file: &RecordFile, plain: &[u8]) -> io::Result<()> {
        self.write_together((self.path_of(file), self.encrypted(file, plain)?))
    }

    /// Writes new files, either all of them or none. When this returns, they survive a power failure.
    pub(super) fn write_new_records(&self, records: &[(RecordFile, Vec<u8>)]) -> io::Result<()> {
        let encrypted = |(file, plain): &(RecordFile, Vec<u8>)| Ok((self.path_of(file), self.encrypted(file, plain)?));
        self.write_all(&records.iter().map(encrypted).collect::<io::Result<Vec<_>>>()?)
    }

    /// Writes or replaces files, each with its old or its new content if this fails. When this returns, they survive a power failure.
    pub(super) fn write_records(&self, records: &[(RecordFile, &[u8])]) -> io::Result<()> {
        let encrypted = |(file, plain): &(RecordFile, &[u8])| Ok((self.path_of(file), self.encrypted(file, plain)?));
        self.replace_all(&records.iter().map(encrypted).collect::<io::Result<Vec<_>>>()?)
    }

    /// What a file holds; `None` if it does not exist.
    pub(super) fn read_record(&self, file: &RecordFile) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(bytes) = self.read(&self.path_of(file))? else { return Ok(None) };
        Ok(Some(self.keys().decrypt(file.kind, &file.name, bytes)?))
    }

    /// What a file holds, at the start: at most `limit` bytes, or a little more.
    pub(super) fn load_record(&self, file: &RecordFile, limit: u64) -> Result<Vec<u8>, ReadError> {
        // An encrypted file is larger by a third, and by its nonce and its tag.
        let bytes = read_limited(&self.path_of(file), limit.saturating_add(limit / 2))?;
        Ok(self.keys().decrypt(file.kind, &file.name, bytes)?)
    }

    /// Removes a file, and returns whether it existed. When this returns, it stays away even after a power failure.
    pub(super) fn remove_record(&self, file: &RecordFile) -> io::Result<bool> {
        self.remove(&self.path_of(file))
    }

    /// The records of a kind. `parse` returns `None` for names that are not of a record. Logs all other files, and leaves them alone.
    pub(super) fn records<N>(&self, kind: RecordKind, parse: impl Fn(&str) -> Option<N>) -> io::Result<Vec<N>> {
        let mut records = Vec::new();
        for entry in fs::read_dir(self.directory_of(kind))? {
            let path = entry?.path();
            let name = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_suffix(SUFFIX));
            let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            if let Some(name) = name.filter(|_| is_file).and_then(&parse) {
                records.push(name);
            } else {
                warn!(path = %path.display(), "not a record of dayone; left alone");
            }
        }
        Ok(records)
    }

    /// Moves a record to `damaged/`, and returns its new path. Does not replace any file there. A record that is not encrypted although
    /// there is a key is encrypted on the way.
    pub(super) fn set_aside(&self, file: &RecordFile) -> io::Result<PathBuf> {
        let path = self.path_of(file);
        let name = path.file_name().unwrap_or(OsStr::new("file")).to_string_lossy().into_owned();
        let names = std::iter::once(name.clone()).chain((1..).map(|number: u64| format!("{name}.{number}")));
        for name in names {
            let aside = RecordFile::damaged(&name);
            let to = self.path_of(&aside);
            // Nobody else writes here, so a name that is free now stays free.
            if fs::symlink_metadata(&to).is_err() {
                self.move_aside(&path, &aside)?;
                return Ok(to);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn move_aside(&self, from: &Path, aside: &RecordFile) -> io::Result<()> {
        let to = self.path_of(aside);
        let bytes = if self.keys().encrypts() { fs::read(from).ok() } else { None };
        if let Some(plain) = bytes.filter(|bytes| Form::of(bytes) == Form::Plain) {
            durable::write_new(&to, &self.encrypted(aside, &plain)?)?;
            durable::remove(from)?;
        } else {
            fs::rename(from, &to)?;
            durable::sync_parent(&to)?;
            durable::sync_parent(from)?;
        }
        Ok(())
    }

    /// The bytes of a file that holds `plain`.
    pub(super) fn encrypted(&self, file: &RecordFile, plain: &[u8]) -> io::Result<Vec<u8>> {
        Ok(self.keys().encrypt(file.kind, &file.name, plain)?)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::DataKeys;

    fn open(root: &Path, keys: Option<u8>) -> DataDirectory {
        let file = tempfile::NamedTempFile::new().unwrap();
        let keys = keys.map(|byte| {
            fs::write(file.path(), format!("{byte:02x}").repeat(32)).unwrap();
            DataKeys::from_file(file.path()).unwrap()
        });
        DataDirectory::open(root, keys.unwrap_or_default()).unwrap()
    }

    #[test]
    fn files_set_aside_never_replace_each_other() {
        let root = tempfile::tempdir().unwrap();
        let directory = open(root.path(), None);
        let file = RecordFile::boot("a");
        let mut places = vec![];
        for content in ["1", "2", "3"] {
            directory.write_record(&file, content.as_bytes()).unwrap();
            places.push(directory.set_aside(&file).unwrap());
        }
        let contents: Vec<_> = places.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        assert_eq!(contents, ["1", "2", "3"]);
        assert!(!directory.path_of(&file).exists());
    }

    #[test]
    fn with_a_key_what_is_set_aside_is_encrypted() {
        let root = tempfile::tempdir().unwrap();
        let file = RecordFile::boot("a");
        open(root.path(), None).write_record(&file, b"hunter2").unwrap();
        let directory = open(root.path(), Some(1));
        let aside = directory.set_aside(&file).unwrap();
        let bytes = fs::read(&aside).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
        assert_eq!(directory.read_record(&RecordFile::damaged("a.json")).unwrap().unwrap(), b"hunter2");
        assert!(!directory.path_of(&file).exists());
        // One that is encrypted stays as it is.
        directory.write_record(&file, b"hunter2").unwrap();
        let before = fs::read(directory.path_of(&file)).unwrap();
        assert_eq!(fs::read(directory.set_aside(&file).unwrap()).unwrap(), before);
    }

    #[test]
    fn a_file_holds_what_was_written_into_it_and_into_no_other() {
        let root = tempfile::tempdir().unwrap();
        let directory = open(root.path(), Some(1));
        let (one, other) = (RecordFile::boot("one"), RecordFile::boot("other"));
        directory.write_record(&one, b"1").unwrap();
        assert_eq!(directory.read_record(&one).unwrap().unwrap(), b"1");
        assert_eq!(directory.load_record(&one, 1 << 20).unwrap(), b"1");
        assert_eq!(directory.read_record(&other).unwrap(), None);
        fs::rename(directory.path_of(&one), directory.path_of(&other)).unwrap();
        let error = directory.load_record(&other, 1 << 20).unwrap_err();
        assert!(matches!(error, ReadError::Decrypt(DecryptError::Changed)), "{error}");
        assert!(directory.remove_record(&other).unwrap());
        assert!(!directory.remove_record(&other).unwrap());
    }
}
