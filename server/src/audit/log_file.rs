//! The file of the audit log that is written.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use imagelib::digest::Digest;
use media::reading::Time;
use serde::Serialize;

use super::chain::{Link, seal};
use super::event::{Event, Who};
use super::tail::{Earlier, Tail, of_earlier};
use crate::held_lock::HeldLock;

/// Why the audit log cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// dayone cannot use the file.
    #[error("cannot write the audit log {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not an audit log of dayone: name another file (--audit-log), or move this one away", .0.display())]
    Foreign(PathBuf),
    /// The path leads to a pipe, a terminal or another device.
    #[error("{} is not a regular file; name a file, or `-` for the standard output (--audit-log)", .0.display())]
    NotAFile(PathBuf),
    /// Another process writes it.
    #[error("another process writes the audit log {}; each server needs its own", .0.display())]
    InUse(PathBuf),
}

/// An entry that is not in the chain yet.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(super) time: SystemTime,
    pub(super) who: Who,
    pub(super) event: Event,
}

impl Entry {
    /// Something that the server does itself, now.
    pub(crate) fn of_server(event: Event) -> Self {
        Self { time: SystemTime::now(), who: Who::SERVER, event }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    sequence: u64,
    time: Time,
    previous: Digest,
    #[serde(flatten)]
    who: &'a Who,
    #[serde(flatten)]
    event: &'a Event,
}

/// Returns an entry as a JSON line, without its hash.
pub(super) fn line(sequence: u64, previous: &Digest, entry: &Entry) -> io::Result<String> {
    let Entry { time, who, event } = entry;
    let line = Line { sequence, time: Time(*time), previous: *previous, who, event };
    serde_json::to_string(&line).map_err(io::Error::other)
}

/// The state of the file that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    /// At its path.
    InPlace,
    /// Somebody has renamed it, as programs that rotate logs do. Its entries still exist.
    Renamed,
    /// At its path, but somebody has cut entries off, as logrotate does with `copytruncate`.
    Shortened,
}

/// The file, open at the end of the chain.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    file: File,
    held: HeldLock,
    link: Link,
    /// The size after the last entry, in bytes.
    size: u64,
}

impl LogFile {
    /// Checks whether dayone can write a log there, if the file exists. Changes nothing, and needs no lock, which a server that runs
    /// may have.
    pub(crate) fn check(path: &Path) -> Result<(), AuditError> {
        let failed = |source| AuditError::Write { path: path.to_owned(), source };
        // Opening a pipe or a device may wait, or do something.
        let is_file = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found.map_err(failed)?.is_file(),
        };
        if !is_file {
            return Err(AuditError::NotAFile(path.to_owned()));
        }
        let mut file = OpenOptions::new().read(true).append(true).open(path).map_err(failed)?;
        match Tail::read(&mut file).map_err(failed)? {
            Tail::Foreign => Err(AuditError::Foreign(path.to_owned())),
            Tail::Empty | Tail::Entry { .. } | Tail::FirstTorn(_) => Ok(()),
        }
    }

    /// Opens a file, or creates it. The chain continues after `known`, the file's own last entry, or that of the file that was split
    /// off last, whichever comes last. The first entry says what was found.
    pub(crate) fn open(path: &Path, known: Link) -> Result<Self, AuditError> {
        let failed = |source| AuditError::Write { path: path.to_owned(), source };
        let open = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
        let mut file = open.map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(AuditError::NotAFile(path.to_owned()));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(AuditError::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let tail = Tail::read(&mut file).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let held = HeldLock::of(&file);
        let mut log = Self { path: path.to_owned(), file, held, link: known, size };
        match tail {
            Tail::Foreign => return Err(AuditError::Foreign(path.to_owned())),
            Tail::Empty => {
                let earlier = log.continue_earlier();
                let name = earlier.as_ref().map(|earlier| earlier.name.clone());
                log.append(&Entry::of_server(Event::LogBegun { earlier: name })).map_err(failed)?;
                log.recover_earlier(earlier).map_err(failed)?;
                sync_directory(path);
            }
            Tail::FirstTorn(damaged) => {
                let earlier = log.continue_earlier();
                log.recover(&damaged, None).map_err(failed)?;
                log.recover_earlier(earlier).map_err(failed)?;
            }
            Tail::Entry { link, damaged, is_unterminated, is_first } => {
                log.link = if link.sequence >= known.sequence { link } else { known };
                if !damaged.is_empty() {
                    log.recover(&damaged, None).map_err(failed)?;
                } else if is_unterminated {
                    log.write("\n").map_err(failed)?;
                }
                // The server that began the file may have failed before it recorded the end of the file before.
                let earlier = if is_first { of_earlier(path) } else { None };
                let earlier = earlier.filter(|earlier| earlier.link.sequence.checked_add(1) == Some(link.sequence));
                log.recover_earlier(earlier).map_err(failed)?;
            }
        }
        Ok(log)
    }

    /// Continues the chain after the file that was split off last, unless a later entry is known.
    fn continue_earlier(&mut self) -> Option<Earlier> {
        let earlier = of_earlier(&self.path).filter(|earlier| earlier.link.sequence >= self.link.sequence)?;
        self.link = earlier.link;
        Some(earlier)
    }

    /// Records that the end of the file that was split off last is no entry, if it is none.
    fn recover_earlier(&mut self, earlier: Option<Earlier>) -> io::Result<()> {
        match earlier {
            Some(Earlier { damaged, name, .. }) if !damaged.is_empty() => self.recover(&damaged, Some(name)),
            _ => Ok(()),
        }
    }

    /// Records that the end of this file, or of an earlier one, is no entry.
    fn recover(&mut self, damaged: &[u8], earlier: Option<String>) -> io::Result<()> {
        let file = earlier.as_deref().map_or(&*self.path, Path::new);
        tracing::warn!(
            file = %file.display(),
            bytes = damaged.len(),
            "the end of the audit log is not intact: the machine has failed, or somebody has changed the file"
        );
        let separator = if earlier.is_some() || damaged.ends_with(b"\n") { "" } else { "\n" };
        let event = Event::LogRecovered {
            bytes: u64::try_from(damaged.len()).unwrap_or(u64::MAX),
            sha256: Digest::of(damaged).to_string(),
            file: earlier,
        };
        self.append_after(separator, &Entry::of_server(event))
    }

    /// Appends an entry. After an error, the file may have a part of it; open the file again then.
    pub(crate) fn append(&mut self, entry: &Entry) -> io::Result<()> {
        self.append_after("", entry)
    }

    fn append_after(&mut self, separator: &str, entry: &Entry) -> io::Result<()> {
        // Somebody may have written an entry with the last number.
        let sequence = self.link.sequence.saturating_add(1);
        let (line, hash) = seal(&line(sequence, &self.link.hash, entry)?, &self.link.hash);
        self.write(&format!("{separator}{line}"))?;
        self.link = Link { sequence, hash };
        Ok(())
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let size = self.file.metadata()?.len();
        if size < self.size {
            // The file may end within a line now. The next `open` finds that.
            return Err(io::Error::other("somebody has cut off entries at its end"));
        }
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            // So that a full disk leaves no part of an entry. If this fails, too, the next `open` finds that part and records it.
            // `set_len` must not lengthen a file that somebody has just cut.
            if self.file.metadata().is_ok_and(|now| now.len() > size) {
                let _ = self.file.set_len(size);
            }
            return Err(error);
        }
        self.size = size.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    /// Waits until what was appended survives a power failure.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Checks where the file is. Fails if somebody has deleted it: its entries are gone, and others would go the same way. Also fails if
    /// another process has the lock or has written since: an NFS server gives the lock away when it has not heard from this machine for a while.
    pub(super) fn file_state(&self) -> io::Result<FileState> {
        if self.held.is_taken_over(&self.file, self.size) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process has taken over its lock"));
        }
        let file = self.file.metadata()?;
        match fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (file.dev(), file.ino()) => {
                Ok(if file.len() < self.size { FileState::Shortened } else { FileState::InPlace })
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(_) | Err(_) if file.nlink() > 0 => Ok(FileState::Renamed),
            Ok(_) => Err(io::Error::other("somebody has put another file in its place; its entries are gone")),
            Err(_) => Err(io::Error::new(io::ErrorKind::NotFound, "somebody has deleted it; its entries are gone")),
        }
    }

    /// The end of the chain.
    pub(crate) fn link(&self) -> Link {
        self.link
    }

    /// The size after the last entry, in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Renames the file, so that the next [`open`](Self::open) begins a new one. The name has the number of the last entry, so that no
    /// file is ever overwritten.
    pub(super) fn rotate(&self) -> io::Result<()> {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{:012}", self.link.sequence));
        if fs::exists(&name)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(&self.path, &name)
    }
}

/// A new file survives a power failure only with its directory. If that fails, the file is there for now.
fn sync_directory(path: &Path) {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Err(error) = File::open(directory).and_then(|directory| directory.sync_all()) {
        tracing::warn!(directory = %directory.display(), %error, "cannot sync the directory of the audit log");
    }
}

#[cfg(test)]
mod tests;
