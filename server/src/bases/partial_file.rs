//! A file that has arrived in part. A file beside it says of what it is a part, so that a later attempt can continue.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use imagelib::digest::Digest;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use url::Url;

use super::space::{self, Readers};

/// What a partial file is a part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    /// The digest of the URL, which may hold a credential.
    url: Digest,
    /// The strong entity tag or the date of the representation (RFC 9110 §13.1.5).
    validator: String,
    /// How long the whole file is.
    total: Option<u64>,
    /// The encoding that the server named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
}

/// A file that has arrived in part.
#[derive(Debug)]
pub(super) struct PartialFile {
    origin_path: PathBuf,
    url: Digest,
    origin: Option<Origin>,
    pub(super) file: File,
    /// How many bytes are there.
    pub(super) length: u64,
}

impl PartialFile {
    /// Opens the partial file of `target`. Empties it if it is not known to be a part of what is at the URL.
    pub(super) fn open(target: &Path, url: &Url, readers: Readers) -> io::Result<Self> {
        let (path, origin_path) = paths(target);
        let url = Digest::of(url.as_str().as_bytes());
        let file = space::open(&path, readers)?;
        // The kernel releases the lock when the file is closed. Some file systems have no locks.
        if let Err(Errno::WOULDBLOCK) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process is fetching the same file"));
        }
        let length = file.metadata()?.len();
        let origin = fs::read(&origin_path).ok().and_then(|json| serde_json::from_slice::<Origin>(&json).ok());
        let origin = origin.filter(|origin| origin.url == url && origin.total.is_none_or(|total| length <= total));
        let mut partial = Self { origin_path, url, origin, file, length };
        if partial.origin.is_none() {
            partial.restart()?;
        }
        Ok(partial)
    }

    /// Forgets the bytes.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.origin = None;
        remove(&self.origin_path)?;
        self.file.set_len(0)?;
        self.length = 0;
        Ok(())
    }

    /// Notes of what the bytes are a part. Without a validator, nobody can continue.
    pub(super) fn begin(
        &mut self,
        validator: Option<String>,
        encoding: Option<String>,
        total: Option<u64>,
    ) -> io::Result<()> {
        self.origin = validator.map(|validator| Origin { url: self.url, validator, total, encoding });
        match &self.origin {
            Some(origin) => fs::write(&self.origin_path, serde_json::to_vec(origin)?),
            None => remove(&self.origin_path),
        }
    }

    /// The validator of the representation, if there are bytes to continue from.
    pub(super) fn validator(&self) -> Option<&str> {
        self.origin.as_ref().filter(|_| self.length > 0).map(|origin| origin.validator.as_str())
    }

    /// How long the whole file is, as far as known.
    pub(super) fn total(&self) -> Option<u64> {
        self.origin.as_ref().and_then(|origin| origin.total)
    }

    /// The encoding that the server named when the download began.
    pub(super) fn encoding(&self) -> Option<&str> {
        self.origin.as_ref().and_then(|origin| origin.encoding.as_deref())
    }

    /// Whether everything has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.total() == Some(self.length)
    }
}

/// The paths of a partial file, and of what is noted about it.
fn paths(target: &Path) -> (PathBuf, PathBuf) {
    (target.with_added_extension("partial"), target.with_added_extension("partial.json"))
}

/// The path of the partial file of `target`.
pub(super) fn path(target: &Path) -> PathBuf {
    paths(target).0
}

/// Removes the partial file of `target`, and what is noted about it.
pub(super) fn discard(target: &Path) -> io::Result<()> {
    let (path, origin) = paths(target);
    remove(&path)?;
    remove(&origin)
}

/// Waits until the bytes of the partial file are on the disk: also those of an earlier process, which may have ended before it has waited.
pub(super) fn sync(target: &Path) -> io::Result<()> {
    if let Err(error) = File::open(path(target))?.sync_all() {
        // The kernel reports an error once, and then still shows bytes that the disk does not have. So this file must not be continued.
        discard(target)?;
        return Err(error);
    }
    Ok(())
}

/// Makes the complete file `target` of its partial file.
pub(super) fn complete(target: &Path) -> io::Result<()> {
    let (path, origin) = paths(target);
    fs::rename(path, target)?;
    remove(&origin)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn only_a_part_of_the_same_representation_is_continued() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a.iso");
        let url: Url = "https://example.com/a.iso?token=hunter2".parse().unwrap();
        let open = || PartialFile::open(&target, &url, Readers::Owner).unwrap();
        let write = |partial: &mut PartialFile, bytes: &[u8]| partial.file.write_all(bytes).unwrap();

        let mut partial = open();
        assert_eq!((partial.length, partial.validator()), (0, None));
        write(&mut partial, b"abc");
        let busy = PartialFile::open(&target, &url, Readers::Owner).unwrap_err();
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        drop(partial);
        assert_eq!(open().length, 0, "nobody knows of what it is a part");

        let arrived = |validator: &str, total, bytes: &[u8]| {
            let mut partial = open();
            partial.restart().unwrap();
            partial.begin(Some(validator.to_owned()), Some("x-gzip".to_owned()), total).unwrap();
            write(&mut partial, bytes);
        };
        arrived("\"1\"", Some(6), b"abc");
        let noted = fs::read_to_string(directory.path().join("a.iso.partial.json")).unwrap();
        assert!(!noted.contains("hunter2"), "{noted}");
        let again = open();
        assert_eq!((again.length, again.validator(), again.total()), (3, Some("\"1\""), Some(6)));
        assert!(!again.is_complete());
        assert_eq!(again.encoding(), Some("x-gzip"));
        drop(again);

        let other = PartialFile::open(&target, &"https://example.com/b.iso".parse().unwrap(), Readers::Owner).unwrap();
        assert_eq!((other.length, other.validator()), (0, None), "another URL");
        drop(other);
        arrived("\"1\"", Some(3), b"abcd");
        assert_eq!(open().length, 0, "longer than the whole");

        arrived("\"1\"", Some(3), b"abc");
        assert!(open().is_complete());
        complete(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"abc");
        discard(&target).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
