//! The rotation of the installation key, as the server sees it: it follows the key's file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use imagelib::recipe::RecipeId;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use tracing::info;

use super::directory::DataDirectory;
use super::key::KeyError;
use super::key_file::{KeyFile, PreviousKey, TakenOver};
use super::keys::{KeyChange, Keys};
use super::record_files::RecordFile;
use super::{Store, persistence};

/// The lock under which the file of the key is replaced. The kernel releases it when the process ends.
pub(super) struct KeyLock(#[expect(dead_code, reason = "holds the lock")] File);

impl KeyLock {
    /// Waits until nobody else replaces the file of the key in the directory `root`.
    pub(super) fn wait(root: &Path) -> io::Result<Self> {
        let directory = File::open(root)?;
        rustix::fs::flock(&directory, FlockOperation::LockExclusive)?;
        Ok(Self(directory))
    }

    /// `None` if somebody else replaces the file at the moment.
    fn attempt(root: &Path) -> io::Result<Option<Self>> {
        let directory = File::open(root)?;
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(directory))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The content of the file when this server has taken the present key over, now if no server has done so yet. `published` is the last time
/// of publication of an image.
pub(super) fn taken_over(mut file: KeyFile, now: SystemTime, published: Option<SystemTime>) -> KeyFile {
    if let Some(previous) = file.previous.as_mut().filter(|previous| previous.taken_over.is_none()) {
        let at = persistence::whole_seconds(now);
        // The clock may have been set back since the last publication.
        let images_until = published.map_or(at, |published| published.max(at));
        previous.taken_over = Some(TakenOver { at, images_until });
    }
    file
}

/// Writes the file, also if the disk is full and there is room that was kept.
pub(super) fn write(directory: &DataDirectory, file: &KeyFile) -> io::Result<()> {
    directory.with_reserve(|| directory.write_record(&RecordFile::installation_key(), &file.to_bytes()))
}

impl Store {
    /// Looks at the file of the key, and takes over what has changed. Cheap if nothing has. Does nothing without a data directory.
    pub fn follow_key(&self) -> Result<Option<KeyChange>, KeyError> {
        let Ok(directory) = self.persistence.directory() else { return Ok(None) };
        let change = self.key_change.lock().take();
        if change.is_some() {
            return Ok(change);
        }
        let mut known = self.key_file.lock();
        let seen = read(directory)?;
        if known.as_ref() == Some(&seen) {
            return Ok(None);
        }
        // Somebody replaces it at the moment: the next look will find what is then there.
        let Some(_lock) = KeyLock::attempt(directory.root())? else { return Ok(None) };
        let found = read(directory)?;
        let mut file = found.clone();
        let was = known.as_ref().map(|known| known.current.clone());
        // If the start could not write when it took the key over, the grace period goes on.
        if was.as_ref() == Some(&file.current)
            && let Some(previous) = &mut file.previous
            && let Some(before) = known.as_ref().and_then(|known| known.previous.as_ref())
        {
            previous.taken_over = previous.taken_over.or(before.taken_over);
        }
        let (file, change) = {
            // Images that are published until the exchange count as earlier ones, and those after it do not: nobody publishes
            // between that decision and the exchange.
            let _nobody_publishes = self.added.publishing.write();
            let published = self.images.all().iter().map(|image| image.created()).max();
            let file = taken_over(file, self.clock.now().wall, published);
            if file != found {
                write(directory, &file)?;
            }
            let keys = Keys::of(&file, self.clock.now());
            let change = keys.rotated();
            self.exchange_keys(&keys);
            (file, change)
        };
        self.keys_were_exchanged();
        let is_other = was.as_ref() != Some(&file.current);
        *known = Some(file);
        if is_other {
            info!("dayone uses another installation key; all new URLs of images depend on it");
        }
        Ok(is_other.then_some(change))
    }

    /// Prepares for the end of the previous key: writes records anew that depend on it. Removes the key if its URLs have
    /// ended, no record depends on it, and `is_needed` is false.
    pub fn remove_previous_key(&self, is_needed: bool) -> Result<Option<KeyChange>, KeyError> {
        let Ok(directory) = self.persistence.directory() else { return Ok(None) };
        let keys = self.keys();
        let Some(other) = &keys.other else { return Ok(None) };
        let is_recorded = self.record_adopted();
        if other.until.is_valid(self.clock.now()) || !is_recorded || is_needed {
            return Ok(None);
        }
        let mut known = self.key_file.lock();
        let Some(_lock) = KeyLock::attempt(directory.root())? else { return Ok(None) };
        let file = read(directory)?;
        // Somebody has replaced the file: the next look will take that over.
        if known.as_ref() != Some(&file) {
            return Ok(None);
        }
        let file = KeyFile { previous: None, ..file };
        write(directory, &file)?;
        self.use_keys(&Keys::of(&file, self.clock.now()));
        *known = Some(file);
        info!("the previous installation key is removed; its URLs answer 404");
        Ok(Some(KeyChange::PreviousRemoved))
    }

    /// Whether there is a previous key whose URLs have ended.
    pub fn has_ended_key(&self) -> bool {
        self.keys().other.as_ref().is_some_and(|other| !other.until.is_valid(self.clock.now()))
    }

    /// The images for which dayone keeps a previous key: those that hold their own URL and are not available, and those whose records
    /// cannot be read.
    pub fn images_of_previous_key(&self) -> Vec<RecipeId> {
        let undecided = self.images.all().into_iter().filter(|image| image.is_undecided()).map(|image| image.id());
        undecided.chain(self.images.unreadable()).collect()
    }
}

/// Reads the file. Another directory may have taken the place of the data directory: its key is not that of this server.
fn read(directory: &DataDirectory) -> Result<KeyFile, KeyError> {
    directory.check()?;
    let file = KeyFile::read(&directory.key(), directory.keys());
    directory.check()?;
    file?.ok_or(KeyError::Missing)
}

/// How long URLs of a previous key stay valid, as an operator reads it in the file.
pub(super) fn end_of(previous: &PreviousKey) -> Option<SystemTime> {
    previous.taken_over.and_then(|taken| taken.at.checked_add(Duration::from_secs(previous.grace)))
}

/// The path of the key in a data directory.
pub(super) fn path_in(root: &Path) -> PathBuf {
    root.join("key")
}
