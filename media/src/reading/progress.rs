//! How much of an image was read, by the files in it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use imagelib::layout::{BootRole, Layout};

use super::snapshot::{FileSnapshot, ReadingSnapshot};

/// After this time without a byte, nobody is reading any more.
pub(super) const QUIET: Duration = Duration::from_secs(10);

/// How much of an image was read. Displays as a summary for an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// When the record began.
    pub since: SystemTime,
    /// When this was computed.
    pub taken: SystemTime,
    /// Whether anybody has requested the image.
    pub asked_for: bool,
    /// The files and structures that were read, or that a boot reads, in the order of their positions in the image.
    pub files: Vec<FileProgress>,
    /// How many bytes were sent. Bytes that were read twice count twice.
    pub sent: u64,
    /// Bytes sent per second, over the last ten seconds.
    pub rate: u64,
    /// When the last byte was sent.
    pub last: Option<SystemTime>,
    /// The time since then.
    pub idle: Option<Duration>,
    /// How long a reading has been interrupted: only a part of the kernel or of an initrd was read, or a client has
    /// requested bytes and does not read them.
    pub stalled: Option<Duration>,
    /// How long the rest of the current file will take at the current rate. `None` for a root file system on a medium,
    /// because a live system reads only the parts that it needs.
    pub left: Option<Duration>,
}

/// How much of a file was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProgress {
    /// The file of the image that contains it, such as `boot.iso`.
    pub image_file: &'static str,
    /// Its path in there, or the name of the structure.
    pub name: String,
    /// Whether it is a file, rather than a structure of the medium.
    pub is_file: bool,
    /// Its role in a boot.
    pub role: Option<BootRole>,
    /// Its size in bytes.
    pub size: u64,
    /// How many of them were read.
    pub read: u64,
    /// Whether it is being read now.
    pub reading: bool,
}

impl FileProgress {
    /// How much of it was read, in percent. 100 means all of it, and a smaller part than 1 % counts as 1.
    pub fn percent(&self) -> u8 {
        percent(self.read, self.size)
    }

    /// Whether all of it was read.
    pub fn is_read(&self) -> bool {
        self.read >= self.size
    }
}

pub(super) fn percent(read: u64, size: u64) -> u8 {
    match read {
        0 => 0,
        read if read >= size => 100,
        read => u8::try_from(u128::from(read) * 100 / u128::from(size.max(1))).unwrap_or(100).max(1),
    }
}

impl Progress {
    /// Computes the progress from a snapshot and the layouts of the image's files.
    pub fn new(snapshot: &ReadingSnapshot, layout: impl Fn(&FileSnapshot) -> Arc<Layout>) -> Self {
        let mut files = Vec::new();
        let mut left = None;
        for file in snapshot.files.iter().filter(|file| file.is_asked_for()) {
            let parts = of_file(file, &layout(file));
            // A live system never reads a whole root file system from its medium.
            let is_read_whole = |part: &FileProgress| part.role != Some(BootRole::Rootfs) || part.size == file.size;
            let reading = parts.iter().find(|part| part.reading && !part.is_read() && is_read_whole(part));
            left = left.or_else(|| duration(reading?.size.saturating_sub(reading?.read), file.rate));
            files.extend(parts);
        }
        let boots = |file: &FileProgress| matches!(file.role, Some(BootRole::Kernel | BootRole::Initrd));
        let begun = files.iter().any(|file| boots(file) && file.read > 0 && !file.is_read());
        let waiting = begun || snapshot.files.iter().any(|file| file.open > 0);
        let idle = snapshot.idle();
        Self {
            since: snapshot.since,
            taken: snapshot.taken,
            asked_for: snapshot.files.iter().any(FileSnapshot::is_asked_for),
            files,
            sent: snapshot.files.iter().map(|file| file.sent).fold(0, u64::saturating_add),
            rate: snapshot.rate(),
            last: snapshot.files.iter().filter_map(|file| file.last).max(),
            idle,
            stalled: idle.filter(|idle| waiting && *idle >= QUIET),
            left,
        }
    }

    /// How many bytes of the files with this role were read, and how many they have. Counts only files that somebody
    /// reads: not those of other entries of a boot menu.
    pub fn of(&self, role: BootRole) -> Option<(u64, u64)> {
        let begun = self.files.iter().filter(|file| file.role == Some(role) && file.read > 0);
        begun.map(|file| (file.read, file.size)).reduce(|one, next| (one.0 + next.0, one.1 + next.1))
    }

    /// The file that is being read.
    pub fn reading(&self) -> Option<&FileProgress> {
        self.files.iter().find(|file| file.reading)
    }
}

fn of_file(file: &FileSnapshot, layout: &Layout) -> Vec<FileProgress> {
    let counts = layout.count(file.ranges.as_slice());
    let reading = file.idle.filter(|idle| *idle < QUIET).and_then(|_| current_file(file, layout));
    let parts = layout.files().iter().zip(counts).enumerate().map(|(index, (part, read))| FileProgress {
        image_file: file.name,
        name: part.name.clone(),
        is_file: part.is_file,
        role: part.role,
        size: part.size,
        read,
        reading: reading == Some(index),
    });
    parts.filter(|part| part.read > 0 || part.role.is_some()).collect()
}

/// The file to which most of the last bytes belong.
fn current_file(file: &FileSnapshot, layout: &Layout) -> Option<usize> {
    let mut totals = vec![0_u64; layout.files().len()];
    for run in &file.recent {
        let counts = layout.count(std::slice::from_ref(run));
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    let named = layout.files().iter().zip(totals).enumerate().filter(|(_, (part, total))| part.is_file && *total > 0);
    named.max_by_key(|(_, (_, total))| *total).map(|(index, _)| index)
}

fn duration(bytes: u64, rate: u64) -> Option<Duration> {
    (rate > 0).then(|| Duration::from_secs(bytes.div_ceil(rate)))
}
