//! How much of an image was read, by the files in it.

use std::sync::Arc;
use std::time::Duration;

use imagelib::layout::{BootRole, Layout};
use serde::Serialize;
use utoipa::ToSchema;

use super::snapshot::{FileSnapshot, ReadingSnapshot};
use super::time::Time;
use super::units::{Bytes, Span};

/// After this time without a byte, nobody is reading any more.
const QUIET: Duration = Duration::from_secs(10);

/// How much of an image was read.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = ReadingProgress)]
pub struct Progress {
    /// A summary in one sentence.
    #[schema(example = "kernel read, initrd 43 %, 206 KB/s, 3 min left")]
    pub summary: String,
    /// When the record began (RFC 3339): when the image was made, the server started, or a boot of the image began.
    #[schema(value_type = String, example = "2026-02-28T23:59:59Z", format = DateTime)]
    pub since: Time,
    /// The time of this snapshot.
    #[schema(value_type = String, format = DateTime)]
    pub at: Time,
    /// How many bytes the server has sent; bytes that it sent twice count twice.
    pub sent: u64,
    /// Bytes sent per second, over the last ten seconds.
    pub rate: u64,
    /// When the server sent the last byte; absent if it has sent none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_read: Option<Time>,
    /// For how many seconds the server has sent nothing although a read is incomplete: a client has read the kernel or an initrd
    /// only in part, or does not accept the bytes that it requested. Absent if nothing is stalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalled_seconds: Option<u64>,
    /// How many more seconds the current file will take at the current rate. Absent for a root file system on a medium, because
    /// a live system reads only the parts that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
    /// The files and structures on the medium that were read, and those that a boot reads.
    pub contents: Vec<FileProgress>,
    /// Whether anybody has requested the image.
    #[serde(skip)]
    pub asked_for: bool,
    /// The time since the last byte was sent.
    #[serde(skip)]
    pub idle: Option<Duration>,
}

/// How much of a file on the medium was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ReadContent)]
pub struct FileProgress {
    /// The file of the image that contains it.
    #[schema(example = "boot.iso")]
    pub file: &'static str,
    /// Its path on the medium; for a file in a file system image, after the image's path and a colon. For a structure, its name.
    #[schema(example = "/images/pxeboot/initrd.img")]
    pub name: String,
    /// `kernel`, `initrd` or `rootfs`, for files that a boot reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "initrd")]
    pub role: Option<BootRole>,
    /// Whether it is a structure of the medium, such as `directories`, instead of a file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub structure: bool,
    /// Length in bytes.
    pub size: u64,
    /// How many of its bytes were read at least once.
    pub read: u64,
    /// The same in percent.
    pub percent: u8,
    /// Whether a client is reading it now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reading: bool,
}

impl FileProgress {
    /// Whether all of it was read.
    pub fn is_read(&self) -> bool {
        self.read >= self.size
    }
}

/// How much was read, in percent. 100 means all of it, and a smaller part than 1 % counts as 1.
fn percent(read: u64, size: u64) -> u8 {
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
            left = left.or_else(|| seconds(reading?.size.saturating_sub(reading?.read), file.rate));
            files.extend(parts);
        }
        let boots = |file: &FileProgress| matches!(file.role, Some(BootRole::Kernel | BootRole::Initrd));
        let begun = files.iter().any(|file| boots(file) && file.read > 0 && !file.is_read());
        let waiting = begun || snapshot.files.iter().any(|file| file.active > 0);
        let idle = snapshot.idle();
        let mut progress = Self {
            summary: String::new(),
            since: Time(snapshot.since),
            at: Time(snapshot.taken),
            sent: snapshot.files.iter().map(|file| file.sent).fold(0, u64::saturating_add),
            rate: snapshot.rate(),
            last_read: snapshot.files.iter().filter_map(|file| file.last_read).max(),
            stalled_seconds: idle.filter(|idle| waiting && *idle >= QUIET).map(|idle| idle.as_secs()),
            seconds_left: left,
            contents: files,
            asked_for: snapshot.files.iter().any(FileSnapshot::is_asked_for),
            idle,
        };
        progress.summary = progress.summarize();
        progress
    }

    /// The kernel, the initrd and the root file system that the host boots, each with a label: its role, or its file name if a
    /// boot reads several files of the role. Several boot entries can have files of the same role; the host reads those of one
    /// entry.
    pub fn boot_files(&self) -> Vec<(String, &FileProgress)> {
        let mut shown = Vec::new();
        for role in [BootRole::Kernel, BootRole::Initrd, BootRole::Rootfs] {
            let files = || self.contents.iter().filter(|file| file.role == Some(role));
            let begun: Vec<&FileProgress> = files().filter(|file| file.read > 0).collect();
            let files = if begun.is_empty() { files().take(1).collect() } else { begun };
            let is_only = files.len() == 1;
            let label = |file: &FileProgress| if is_only { role.to_string() } else { last_part(&file.name) };
            shown.extend(files.into_iter().map(|file| (label(file), file)));
        }
        shown
    }

    /// How many bytes of the files with this role were read, and how many they have. Counts only files that somebody
    /// reads: not those of other entries of a boot menu.
    fn of(&self, role: BootRole) -> Option<(u64, u64)> {
        let begun = self.contents.iter().filter(|file| file.role == Some(role) && file.read > 0);
        begun.map(|file| (file.read, file.size)).reduce(|one, next| (one.0 + next.0, one.1 + next.1))
    }

    /// Summarizes the rest: `kernel read, initrd 43 %, rootfs 2 %, 206 KB/s, 3 min left`.
    fn summarize(&self) -> String {
        if !self.asked_for {
            return "not requested yet".to_owned();
        }
        if self.sent == 0 {
            return "requested, nothing read yet".to_owned();
        }
        let mut parts: Vec<String> = Vec::new();
        for role in [BootRole::Kernel, BootRole::Initrd, BootRole::Rootfs] {
            match self.of(role) {
                Some((read, size)) if read >= size => parts.push(format!("{role} read")),
                Some((read, size)) => parts.push(format!("{role} {} %", percent(read, size))),
                None => {}
            }
        }
        if parts.is_empty() {
            parts.push(format!("{} read", Bytes(self.sent)));
        }
        match (self.stalled_seconds, self.idle) {
            (Some(stalled), _) => parts.push(format!("stalled for {}", Span(stalled))),
            (None, Some(idle)) if idle >= QUIET => parts.push(format!("last read {} ago", Span(idle.as_secs()))),
            _ => {
                parts.push(format!("{}/s", Bytes(self.rate)));
                parts.extend(self.seconds_left.map(|left| format!("{} left", Span(left))));
            }
        }
        parts.join(", ")
    }
}

fn last_part(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn of_file(file: &FileSnapshot, layout: &Layout) -> Vec<FileProgress> {
    let counts = layout.count(&file.ranges);
    let reading = file.idle.filter(|idle| *idle < QUIET).and_then(|_| current_file(file, layout));
    let parts = layout.files().iter().zip(counts).enumerate().map(|(index, (part, read))| FileProgress {
        file: file.name,
        name: part.name.clone(),
        role: part.role,
        structure: !part.is_file,
        size: part.size,
        read,
        percent: percent(read, part.size),
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

fn seconds(bytes: u64, rate: u64) -> Option<u64> {
    (rate > 0).then(|| bytes.div_ceil(rate))
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, SystemTime};

    use super::super::file::State;
    use super::*;

    /// What is said of a kernel and an initrd of 1 MB each after these reads, each of a file, up to a byte, so many
    /// seconds ago, and with so many answers on their way.
    fn text(reads: &[(&'static str, u64, u64)], open: u32) -> String {
        let (now, time) = (Instant::now() + Duration::from_secs(10_000), SystemTime::now());
        let files = ["vmlinuz", "initrd.img", "boot.ipxe"].map(|name| {
            let mut state = State { open, ..State::default() };
            for (_, end, ago) in reads.iter().filter(|(read, ..)| *read == name) {
                let then = now.checked_sub(Duration::from_secs(*ago)).unwrap();
                state.ranges.add(0..*end);
                state.recent.add(&(0..*end));
                state.sent += end;
                state.rate.add(then, *end);
                state.last = Some(then);
            }
            FileSnapshot::of(name, 1_000_000, &state, now, time)
        });
        let snapshot = ReadingSnapshot { since: time, taken: time, files: files.to_vec() };
        let layout = |file: &FileSnapshot| {
            let role = [("vmlinuz", BootRole::Kernel), ("initrd.img", BootRole::Initrd)];
            let role = role.into_iter().find(|(name, _)| *name == file.name).map(|(_, role)| role);
            Arc::new(Layout::whole(file.name, role, file.size))
        };
        Progress::new(&snapshot, layout).summary
    }

    #[test]
    fn the_summary_tells_an_operator_the_progress() {
        assert_eq!(text(&[], 0), "not requested yet");
        assert_eq!(text(&[("boot.ipxe", 300, 2)], 0), "300 B read, 150 B/s, 6664 s left".replace("6664 s", "111 min"));
        let kernel = ("vmlinuz", 1_000_000, 4);
        assert_eq!(text(&[kernel], 0), "kernel read, 250 KB/s");
        let initrd = ("initrd.img", 436_000, 4);
        assert_eq!(text(&[kernel, initrd], 1), "kernel read, initrd 43 %, 359 KB/s, 6 s left");
        assert_eq!(text(&[("vmlinuz", 1, 1)], 1), "kernel 1 %, 1 B/s, 277 h left");
        let (kernel, initrd) = (("vmlinuz", 1_000_000, 50), ("initrd.img", 436_000, 40));
        assert_eq!(text(&[kernel, initrd], 0), "kernel read, initrd 43 %, stalled for 40 s");
        assert_eq!(text(&[kernel], 0), "kernel read, last read 50 s ago");
        assert_eq!(text(&[kernel], 1), "kernel read, stalled for 50 s", "somebody wants more and does not take it");
    }
}
