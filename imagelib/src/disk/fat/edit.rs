//! Edits of a FAT file system that lies in a base, as patches of the base.

use std::io::{self, Seek as _, SeekFrom, Write as _};

use bytes::Bytes;
use fatfs::{Date, DateTime, FileSystem, FsOptions, Time, TimeProvider};

use super::device::Device;
use super::image::FatImage;
use super::{FatError, FatPath};
use crate::fields::u32_le;
use crate::overlay::Patch;

/// A directory record's date and time of creation, and its date of last access.
const CREATED: (u64, usize) = (13, 7);
/// Its time and date of last change.
const CHANGED: (u64, usize) = (22, 4);
/// The place of the number of free clusters in the information sector of FAT32.
const FREE_CLUSTERS: usize = 488;

/// An edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FatEdit {
    /// Replaces the content of the file, or adds the file to an existing directory.
    Write(Bytes),
    /// Appends these bytes to an existing file.
    Append(Bytes),
    /// Adds a directory to an existing one, if it is not there.
    Directory,
}

/// There is no clock: new files have the first date of FAT. Changed files keep their times.
#[derive(Debug)]
struct NoClock;

static NO_CLOCK: NoClock = NoClock;

impl TimeProvider for NoClock {
    fn get_current_date(&self) -> Date {
        Date { year: 1980, month: 1, day: 1 }
    }

    fn get_current_date_time(&self) -> DateTime {
        DateTime { date: self.get_current_date(), time: Time { hour: 0, min: 0, sec: 0, millis: 0 } }
    }
}

impl FatImage {
    /// The patches of the base for these edits, in the given order. Reads nothing.
    pub fn edit(&self, edits: &[(FatPath, FatEdit)]) -> Result<Vec<Patch>, FatError> {
        let mut device = Device::new(&self.pieces, self.geometry.size);
        for (index, (path, edit)) in edits.iter().enumerate() {
            self.check(path, edit, edits.get(..index).unwrap_or_default())?;
            let exists = self.file(path.as_str()).is_some();
            write(&mut device, path, edit, exists).map_err(|error| self.explain(edits, path, error))?;
            if *edit == FatEdit::Directory {
                device.shorten_dots(!path.as_str().contains('/'));
            }
        }
        for (path, _) in edits {
            if let Some(file) = self.file(path.as_str()) {
                for (at, length) in [CREATED, CHANGED] {
                    device.restore(file.record + at, length);
                }
            }
        }
        self.forget_free_clusters(&mut device);
        Ok(device.changes(self.start))
    }

    /// Makes the number of free clusters in the information sector unknown if fatfs has counted down to below zero, as it does if the number
    /// of the base is too small.
    fn forget_free_clusters(&self, device: &mut Device<'_>) {
        let Some(info) = self.geometry.info else { return };
        let is_negative = |bytes: &[u8], at| u32_le(bytes, at).is_some_and(|number| number > i32::MAX.unsigned_abs());
        let was_negative = self.pieces.get(&info).is_some_and(|sector| is_negative(sector, FREE_CLUSTERS));
        let place = info + FREE_CLUSTERS as u64;
        let now: Vec<u8> = (place..place + 4).filter_map(|at| device.byte(at)).collect();
        if is_negative(&now, 0) && !was_negative {
            device.put(place, &u32::MAX.to_le_bytes());
        }
    }

    /// Checks an edit that follows those before it.
    fn check(&self, path: &FatPath, edit: &FatEdit, before: &[(FatPath, FatEdit)]) -> Result<(), FatError> {
        let not_found = |kind, path: &str| Err(FatError::NotFound { kind, path: path.to_owned() });
        let existing = self.file(path.as_str());
        let (size, content) = match (edit, existing) {
            (FatEdit::Append(_), None) => return not_found("file", path.as_str()),
            (FatEdit::Append(content), Some(file)) => (file.size, content.len()),
            (FatEdit::Write(content), _) => (0, content.len()),
            (FatEdit::Directory, Some(_)) => return Err(FatError::Twice(path.to_string())),
            (FatEdit::Directory, None) => (0, 0),
        };
        if u64::from(size) + content as u64 > u64::from(u32::MAX) {
            return Err(FatError::FileTooLarge(path.to_string()));
        }
        let is_made = |path: &str| {
            before.iter().any(|(made, edit)| *edit == FatEdit::Directory && made.as_str().eq_ignore_ascii_case(path))
        };
        let is_directory =
            |path: &str| is_made(path) || self.directories.iter().any(|directory| directory.eq_ignore_ascii_case(path));
        if *edit != FatEdit::Directory && is_directory(path.as_str()) {
            return Err(FatError::Twice(path.to_string()));
        }
        let parent = path.as_str().rsplit_once('/').map_or("", |(parent, _)| parent);
        if existing.is_none() && self.closed.iter().any(|closed| closed.eq_ignore_ascii_case(parent)) {
            return Err(FatError::RecordsBehindEnd(parent.to_owned()));
        }
        if parent.is_empty() || is_directory(parent) { Ok(()) } else { not_found("directory", parent) }
    }

    /// Turns an error of fatfs into one with sizes: fatfs does not tell how full the file system is.
    fn explain(&self, edits: &[(FatPath, FatEdit)], path: &FatPath, source: io::Error) -> FatError {
        if self.needed(edits) > self.free_clusters {
            return self.full(edits);
        }
        match source.kind() {
            io::ErrorKind::WriteZero => FatError::DirectoryFull(path.to_string()),
            _ => FatError::Edit { path: path.to_string(), source },
        }
    }

    /// How many clusters these edits need, without those for longer directories.
    pub(super) fn needed(&self, edits: &[(FatPath, FatEdit)]) -> u64 {
        let growth = |(path, edit): &(FatPath, FatEdit)| {
            let before = self.file(path.as_str()).map_or(0, |file| u64::from(file.size));
            let after = match edit {
                FatEdit::Write(content) => content.len() as u64,
                FatEdit::Append(content) => before + content.len() as u64,
                FatEdit::Directory => 1,
            };
            self.geometry.clusters_of(after).saturating_sub(self.geometry.clusters_of(before))
        };
        edits.iter().map(growth).sum()
    }

    /// The error that these edits have no room.
    pub(super) fn full(&self, edits: &[(FatPath, FatEdit)]) -> FatError {
        FatError::Full { needed: self.needed(edits) * u64::from(self.geometry.cluster_size), free: self.free() }
    }
}

fn write(device: &mut Device<'_>, path: &FatPath, edit: &FatEdit, exists: bool) -> io::Result<()> {
    device.begin_edit();
    let options = FsOptions::new().time_provider(&NO_CLOCK);
    let file_system = FileSystem::new(device, options)?;
    {
        let root = file_system.root_dir();
        // If fatfs reads a name in another way, a file that exists must not become two.
        let open = || if exists { root.open_file(path.as_str()) } else { root.create_file(path.as_str()) };
        match edit {
            // Over the clusters that it has, as far as they go.
            FatEdit::Write(content) => {
                let mut file = open()?;
                file.write_all(content)?;
                file.truncate()?;
                file.flush()?;
            }
            FatEdit::Append(content) => {
                let mut file = open()?;
                file.seek(SeekFrom::End(0))?;
                file.write_all(content)?;
                file.flush()?;
            }
            FatEdit::Directory => drop(root.create_dir(path.as_str())?),
        }
    }
    file_system.unmount()
}
