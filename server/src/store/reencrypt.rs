//! Brings all files of a data directory into the form in which dayone would write them now: encrypted with the first key, or not at all.
//!
//! Each file is replaced by one rename, and files in every form are readable as long as their keys are there. A crash at any moment
//! therefore leaves a directory that the next start continues with.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use tracing::{error, info, warn};

use super::data_keys::DecryptError;
use super::directory::{DataDirectory, DirectoryError};
use super::error::OpenError;
use super::key_rotation::KeyLock;
use super::record_cipher::{Form, HEADER, RecordKind};
use super::record_files::RecordFile;

/// How many files are written before the disk is waited for.
const AT_ONCE: usize = 256;

/// The files whose form is not the present one.
#[derive(Default)]
struct Survey {
    /// Those that can be brought into it.
    others: Vec<RecordFile>,
    /// Those whose key is missing: the first, why, and how many there are.
    unreadable: Option<(PathBuf, DecryptError, usize)>,
    /// Those that the system does not read, so that nobody knows which key they need: the first, why, and how many there are.
    unknown: Option<(PathBuf, io::Error, usize)>,
}

/// Checks that there is a key for every file, before anything is changed, and then brings all into the present form. If they cannot be
/// written, the server starts nevertheless: it can read them.
pub(super) fn reencrypt(data: &DataDirectory) -> Result<(), OpenError> {
    let survey = survey(data)?;
    if let Some((path, reason, count)) = survey.unreadable {
        return Err(OpenError::Encrypted { path, reason, others: count - 1 });
    }
    let (found, encrypts, unneeded) = (survey.others.len(), data.keys().encrypts(), data.keys().only_decrypting());
    if let Some((path, reason, files)) = &survey.unknown
        && (encrypts || unneeded > 0)
    {
        error!(
            path = %path.display(), error = %reason, files,
            "cannot read a file in the data directory, so dayone does not know which key it needs; keep all keys in data-key-file until dayone can \
             read it"
        );
    }
    if found > 0 {
        info!(
            files = found,
            encrypts, "bringing the files in the data directory into the form that the settings ask for"
        );
    }
    match rewrite_all(data, &survey.others) {
        Ok(left) => {
            if found > 0 {
                info!(files = found - left.damaged, encrypts, "the files in the data directory are rewritten");
            }
            if left.in_place == 0 && survey.unknown.is_none() && unneeded > 0 {
                info!(
                    keys = unneeded,
                    "no file in the data directory needs the keys in data-key-file that only decrypt"
                );
            }
        }
        Err(failure) if encrypts => error!(
            error = %failure,
            "cannot encrypt all files in the data directory; some are as they were, and the next start tries again"
        ),
        Err(failure) => error!(
            error = %failure,
            "cannot decrypt all files in the data directory; keep their key, the next start tries again"
        ),
    }
    Ok(())
}

/// Looks at the beginning of every file.
fn survey(data: &DataDirectory) -> Result<Survey, DirectoryError> {
    let mut survey = Survey::default();
    for kind in [RecordKind::Image, RecordKind::Boot, RecordKind::Base, RecordKind::Damaged] {
        let directory = data.directory_of(kind);
        let listed = list(&directory, kind).map_err(|source| DirectoryError::Io { path: directory, source })?;
        for file in listed {
            survey.add_file(data, file);
        }
    }
    // The last one, because it tells earlier versions of dayone that the directory is not for them.
    survey.add_file(data, RecordFile::installation_key());
    Ok(survey)
}

fn list(directory: &Path, kind: RecordKind) -> io::Result<Vec<RecordFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.extend(entry.file_name().to_str().and_then(|name| RecordFile::in_directory(kind, name)));
        }
    }
    Ok(files)
}

impl Survey {
    fn add_file(&mut self, data: &DataDirectory, file: RecordFile) {
        let path = data.path_of(&file);
        let form = match form(&path) {
            Ok(form) => form,
            // Before the first start, there is no installation key.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            // What that means for its content is left to those who read it.
            Err(error) => {
                self.unknown.get_or_insert((path, error, 0)).2 += 1;
                return;
            }
        };
        match data.keys().check(form) {
            Err(reason) if reason.is_about_keys() && file.kind == RecordKind::Damaged => {
                warn!(path = %path.display(), %reason, "a damaged record stays as it is");
            }
            Err(reason) if reason.is_about_keys() => {
                self.unreadable.get_or_insert((path, reason, 0)).2 += 1;
            }
            _ if data.keys().is_present(form) => {}
            _ => self.others.push(file),
        }
    }
}

fn form(path: &Path) -> io::Result<Form> {
    let mut beginning = Vec::with_capacity(HEADER);
    File::open(path)?.take(HEADER as u64).read_to_end(&mut beginning)?;
    Ok(Form::of(&beginning))
}

/// How many files cannot be rewritten, because no key decrypts them.
#[derive(Default)]
struct Left {
    damaged: usize,
    /// Those of them that stay where they are. Without the key that they name, the server would not start.
    in_place: usize,
}

impl Left {
    fn add(&mut self, path: &Path, kind: RecordKind, reason: DecryptError) {
        let path = path.display();
        self.damaged += 1;
        match kind {
            RecordKind::Damaged => {
                warn!(%path, %reason, "no key decrypts a damaged record; it stays as it is, and needs no key");
            }
            RecordKind::Image | RecordKind::Boot => {
                warn!(%path, %reason, "no key decrypts a record; dayone sets it aside, and it needs no key");
            }
            RecordKind::Base | RecordKind::InstallationKey => {
                self.in_place += 1;
                error!(
                    %path,
                    %reason,
                    "no key decrypts a file; restore it from a backup or move it away, and keep all keys until then"
                );
            }
        }
    }
}

/// Rewrites these files. Returns those that are damaged, which stay as they are.
fn rewrite_all(data: &DataDirectory, files: &[RecordFile]) -> io::Result<Left> {
    let mut left = Left::default();
    for batch in files.chunk_by(|one, other| one.kind == other.kind).flat_map(|kind| kind.chunks(AT_ONCE)) {
        // `dayone key` may replace this file at the moment.
        let is_key = batch.iter().any(|file| file.kind == RecordKind::InstallationKey);
        let _lock = if is_key { Some(KeyLock::wait(data.root())?) } else { None };
        let mut rewritten = Vec::with_capacity(batch.len());
        for file in batch {
            let path = data.path_of(file);
            match decrypted(data, file, &fs::read(&path)?) {
                Ok(plain) => rewritten.push((path, data.encrypted(file, &plain)?)),
                Err(reason) => left.add(&path, file.kind, reason),
            }
        }
        data.replace_all(&rewritten)?;
    }
    Ok(left)
}

/// What a file holds. One in `damaged/` may still be bound to what it was before.
fn decrypted(data: &DataDirectory, file: &RecordFile, bytes: &[u8]) -> Result<Vec<u8>, DecryptError> {
    let mut decrypted = data.keys().decrypt(file.kind, &file.name, bytes.to_owned());
    if file.kind == RecordKind::Damaged
        && let Some((name, _)) = file.name.split_once(".json")
    {
        for kind in [RecordKind::Image, RecordKind::Boot, RecordKind::Base] {
            decrypted = decrypted.or_else(|_| data.keys().decrypt(kind, name, bytes.to_owned()));
        }
    }
    decrypted
}
