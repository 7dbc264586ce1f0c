//! The bases that were added while a server ran. Each has a record in the data directory, and copies of its files.
//!
//! A base is replaced by adding one of the same name. The store keeps the replaced one for as long as images use it, and removes
//! its files after the last transfer of them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use imagelib::base::Role;
use imagelib::digest::Digest;
use media::base_file::BaseFile;
use parking_lot::{Mutex, RwLock};
use tracing::{info, warn};

use super::base_record::{BaseRecord, BaseRecordState, BaseVersion};
use super::definition::{BaseDefinition, BaseName};
use super::directory::{DataDirectory, DirectoryError};
use super::durable;
use super::error::OpenError;
use super::record_cipher::RecordKind;
use super::record_files::RecordFile;
use super::registered_base::RegisteredBase;

/// The maximum size of a record, in bytes: larger than that of any base.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// The ends of the names of files that dayone is still fetching.
const UNFINISHED: [&str; 2] = ["partial", "partial.json"];

/// The added bases.
#[derive(Debug, Default)]
pub(super) struct AddedBases {
    versions: Mutex<Versions>,
    /// Files that no record names any more, and that may still be read.
    leaving: Mutex<Vec<Leaving>>,
    /// Held for reading while an image is published, and for writing while a base is removed: no image may appear over a base that
    /// is going.
    pub(super) publishing: RwLock<()>,
}

#[derive(Debug, Default)]
struct Versions {
    records: BTreeMap<BaseVersion, BaseRecord>,
    /// The last version that ever was, whose files may still be leaving.
    last: Option<BaseVersion>,
}

#[derive(Debug)]
struct Leaving {
    paths: Vec<PathBuf>,
    readers: Vec<Weak<BaseFile>>,
}

/// An added base whose files have arrived.
#[derive(Debug)]
pub(super) struct ReadyBase {
    pub(super) version: BaseVersion,
    pub(super) definition: BaseDefinition,
    /// What its files were when they arrived.
    pub(super) digests: BTreeMap<Role, Digest>,
}

impl AddedBases {
    /// Reads the records. Removes the files that no record names, and the failed attempts before later ones. Also returns the bases
    /// whose files are there, in the order of their versions.
    pub(super) fn load(data: &DataDirectory) -> Result<(Self, Vec<ReadyBase>), OpenError> {
        let listed = data.records(RecordKind::Base, |name| name.parse().ok());
        let listed: Vec<BaseVersion> = listed.map_err(|source| DirectoryError::Io { path: data.bases(), source })?;
        let mut versions = Versions::default();
        // A record that cannot be read keeps its files.
        let mut unreadable = Vec::new();
        for version in listed {
            versions.last = versions.last.max(Some(version));
            let file = RecordFile::base(version);
            let (path, read) =
                (data.path_of(&file), data.load_record(&file, MAX_RECORD_BYTES).map_err(|error| error.to_string()));
            match read.and_then(|json| BaseRecord::from_json(&json).map_err(|error| error.to_string())) {
                Ok(record) => drop(versions.records.insert(version, record)),
                Err(error) => {
                    warn!(path = %path.display(), error, "cannot read the record of a base; dayone leaves the base out");
                    unreadable.push(version);
                }
            }
        }
        let mut ready = Vec::new();
        for (version, record) in &versions.records {
            if let BaseRecordState::Ready(digests) = &record.state {
                let definition = record.definition(*version, &data.base_files())?;
                ready.push(ReadyBase { version: *version, definition, digests: digests.clone() });
            }
        }
        let known = |version: &BaseVersion| versions.records.contains_key(version) || unreadable.contains(version);
        remove_orphans(data, known);
        Ok((Self { versions: Mutex::new(versions), ..Self::default() }, ready))
    }

    /// All added bases, in the order of their versions.
    pub(super) fn all(&self) -> Vec<(BaseVersion, BaseRecord)> {
        self.versions.lock().records.iter().map(|(version, record)| (*version, record.clone())).collect()
    }

    pub(super) fn get(&self, version: BaseVersion) -> Option<BaseRecord> {
        self.versions.lock().records.get(&version).cloned()
    }

    /// Records a new base. When this returns, the record survives a power failure.
    pub(super) fn add(&self, data: &DataDirectory, record: BaseRecord) -> io::Result<BaseVersion> {
        let mut versions = self.versions.lock();
        let version = BaseVersion::after(versions.last);
        write(data, version, &record)?;
        versions.last = Some(version);
        versions.records.insert(version, record);
        Ok(version)
    }

    /// Records how far dayone is with a base, and then calls `recorded`, before anybody can see the new state. Returns whether the
    /// base exists and had not arrived before.
    pub(super) fn set_state(
        &self,
        data: &DataDirectory,
        version: BaseVersion,
        state: BaseRecordState,
        recorded: impl FnOnce(),
    ) -> io::Result<bool> {
        let mut versions = self.versions.lock();
        let record = versions.records.get_mut(&version).filter(|record| !record.is_ready());
        let Some(record) = record else { return Ok(false) };
        let changed = record.clone().with_state(state);
        write(data, version, &changed)?;
        *record = changed;
        recorded();
        Ok(true)
    }

    /// Removes the record of a base, with what is registered of it if its files are there. They stay until
    /// [`remove_left`](Self::remove_left) finds that nobody reads them. Returns whether that was so.
    pub(super) fn forget(
        &self,
        data: &DataDirectory,
        version: BaseVersion,
        registered: Option<&RegisteredBase>,
    ) -> io::Result<bool> {
        let mut versions = self.versions.lock();
        let Some(record) = versions.records.get(&version) else { return Ok(false) };
        // It has arrived since the caller looked.
        if registered.is_none() && record.is_ready() {
            return Ok(false);
        }
        data.remove_record(&RecordFile::base(version))?;
        let mut paths = Vec::new();
        for role in record.sources.keys() {
            let path = data.base_files().join(version.file_name(*role));
            let unfinished = UNFINISHED.iter().map(|end| path.with_added_extension(end));
            paths.extend(unfinished.chain([path.clone()]));
        }
        let open = registered.and_then(RegisteredBase::available);
        let readers = open.iter().flat_map(|open| open.files.values().map(|file| Arc::downgrade(&file.file))).collect();
        versions.records.remove(&version);
        self.leaving.lock().push(Leaving { paths, readers });
        Ok(true)
    }

    /// Removes the files of forgotten bases that nobody reads any more.
    pub(super) fn remove_left(&self) {
        self.leaving.lock().retain_mut(|leaving| {
            if leaving.readers.iter().any(|file| file.strong_count() > 0) {
                return true;
            }
            leaving.paths.retain(|path| match fs::remove_file(path) {
                Ok(()) => false,
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(error) => {
                    warn!(path = %path.display(), %error, "cannot remove the file of a base; dayone tries again");
                    true
                }
            });
            !leaving.paths.is_empty()
        });
    }
}

fn write(data: &DataDirectory, version: BaseVersion, record: &BaseRecord) -> io::Result<()> {
    data.write_record(&RecordFile::base(version), &record.to_json()?)
}

/// Removes the files of bases without a record: a server that was killed has not finished removing them.
fn remove_orphans(data: &DataDirectory, known: impl Fn(&BaseVersion) -> bool) {
    let directory = data.base_files();
    let Ok(entries) = fs::read_dir(&directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let version = name.split_once('.').and_then(|(version, _)| version.parse().ok());
        if version.is_some_and(|version| !known(&version)) {
            match fs::remove_file(&path) {
                Ok(()) => info!(path = %path.display(), "removed the file of a base that no longer exists"),
                Err(error) => warn!(path = %path.display(), %error, "cannot remove the file of a base"),
            }
        }
    }
}

/// The path of a file of a base in the data directory.
pub(super) fn file_path(data: &DataDirectory, version: BaseVersion, role: Role) -> PathBuf {
    data.base_files().join(version.file_name(role))
}

/// Makes the names of the files in the directory survive a power failure.
pub(super) fn sync_files(data: &DataDirectory) -> io::Result<()> {
    durable::sync_parent(&data.base_files().join("x"))
}

/// Whether an added base has the name of a configured one.
pub(super) fn twice<'a>(ready: &'a [ReadyBase], configured: &[BaseDefinition]) -> Option<&'a BaseName> {
    let mut names = ready.iter().map(|base| &base.definition.name);
    names.find(|name| configured.iter().any(|base| base.name == **name))
}
