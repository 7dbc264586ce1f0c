//! How far the reading of an image has come, by the files that its bytes are of.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use imagelib::layout::{BootRole, Layout};

use super::snapshot::{FileSnapshot, ReadingSnapshot};

/// After this long without a byte nothing is being read any more.
pub(super) const QUIET: Duration = Duration::from_secs(10);

/// How far the reading of an image has come. As text, a sentence for an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Since when the record is kept.
    pub since: SystemTime,
    /// When this was known.
    pub taken: SystemTime,
    /// Whether anybody has asked for the image.
    pub asked_for: bool,
    /// The files and structures that were read, or are read by a boot, in the order in which they lie in the image.
    pub files: Vec<FileProgress>,
    /// How many bytes were sent, those that were read again counted again.
    pub sent: u64,
    /// Bytes sent per second, over the last ten seconds.
    pub rate: u64,
    /// When the last byte was sent.
    pub last: Option<SystemTime>,
    /// How long that was ago.
    pub idle: Option<Duration>,
    /// For how long nothing has been read although something is: the kernel or an initrd is there in part, or a client
    /// has asked for bytes and does not take them.
    pub stalled: Option<Duration>,
    /// How long the file that is being read will take yet, at the present rate. None for a root file system on a medium, of
    /// which a live system reads what it needs.
    pub left: Option<Duration>,
}

/// How far the reading of a file has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProgress {
    /// The file of the image that it is in, such as `boot.iso`.
    pub image_file: &'static str,
    /// Its path there, or what it is.
    pub name: String,
    /// Whether it is a file, and not a structure of the medium.
    pub is_file: bool,
    /// What it is to a boot.
    pub role: Option<BootRole>,
    /// How many bytes it has.
    pub size: u64,
    /// How many of them were read.
    pub read: u64,
    /// Whether it is being read now.
    pub reading: bool,
}

impl FileProgress {
    /// How much of it was read. 100 is all of it, and less than a hundredth is 1.
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
    /// What a snapshot says, with the layouts of the image's files.
    pub fn new(snapshot: &ReadingSnapshot, layout: impl Fn(&FileSnapshot) -> Arc<Layout>) -> Self {
        let mut files = Vec::new();
        let mut left = None;
        for file in snapshot.files.iter().filter(|file| file.is_asked_for()) {
            let parts = of_file(file, &layout(file));
            // A live system reads of a root file system on its medium what it needs, and never all of it.
            let comes_whole = |part: &FileProgress| part.role != Some(BootRole::Rootfs) || part.size == file.size;
            let reading = parts.iter().find(|part| part.reading && !part.is_read() && comes_whole(part));
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

    /// How far the files of a role have come that somebody reads: how many bytes were read, and how many there are.
    /// Those of other entries of a boot menu do not count.
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
    let reading = file.idle.filter(|idle| *idle < QUIET).and_then(|_| now_read(file, layout));
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

/// The file that most of the bytes are of that were read last.
fn now_read(file: &FileSnapshot, layout: &Layout) -> Option<usize> {
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
