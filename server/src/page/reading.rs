//! What was read of an image: a bar for each file that a boot reads, and a strip over the whole image.

use std::fmt::Write as _;
use std::ops::Range;

use media::reading::{FileProgress, FileSnapshot, Progress, ReadingSnapshot};

use super::moment::Moment;
use crate::store::StoredImage;
use crate::units::{bytes, count, duration};

/// The width of the strip, in units of its own. Finer ranges would not be visible.
const WIDTH: u64 = 400;

/// What was read of an image.
#[derive(Debug)]
pub(super) struct ReadView {
    /// In one sentence.
    pub(super) summary: String,
    /// The kernel, the initrd and the root file system.
    pub(super) bars: Vec<Bar>,
    /// The whole image; none if nothing was requested.
    pub(super) strip: Option<Strip>,
    /// Bytes per second over the last ten seconds; none if nobody reads.
    pub(super) rate: Option<String>,
    /// How long the current file still takes.
    pub(super) left: Option<String>,
    /// For how long a read has stalled.
    pub(super) stalled: Option<String>,
    /// When the last byte was sent.
    pub(super) last: Option<Moment>,
    /// How much was sent.
    pub(super) sent: String,
    /// Who reads.
    pub(super) clients: Vec<Reader>,
}

/// A file on the medium.
#[derive(Debug)]
pub(super) struct Bar {
    /// `kernel`, `initrd` or `rootfs`; if a boot reads several files of the role, the file's name.
    pub(super) label: String,
    /// Its path.
    pub(super) name: String,
    pub(super) percent: u8,
    pub(super) read: String,
    pub(super) size: String,
    /// Whether a client reads it now.
    pub(super) reading: bool,
}

/// The bytes of the image that were read.
#[derive(Debug)]
pub(super) struct Strip {
    /// The name of the file: `boot.iso`.
    pub(super) file: &'static str,
    /// The ranges that were read, as the `d` of an SVG path within 400 by 8.
    pub(super) path: String,
    /// The same for those who do not see it.
    pub(super) label: String,
}

/// A client of the media plane.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) file: &'static str,
    pub(super) address: String,
    pub(super) agent: String,
    pub(super) requests: u64,
    pub(super) sent: String,
    pub(super) last: Moment,
}

impl ReadView {
    /// Takes a snapshot. Waits for the disk: the first time, this reads directories of the image.
    pub(super) fn of(image: &StoredImage) -> Self {
        let snapshot = image.reading();
        let progress = image.progress_of(&snapshot);
        Self {
            summary: progress.summary.clone(),
            bars: bars(&progress),
            strip: strip(&snapshot),
            rate: (progress.rate > 0).then(|| format!("{}/s", bytes(progress.rate))),
            left: progress.seconds_left.map(duration),
            stalled: progress.stalled_seconds.map(duration),
            last: progress.last_read.map(|time| Moment::of(time.to_string())),
            sent: bytes(progress.sent),
            clients: readers(&snapshot),
        }
    }
}

fn bars(progress: &Progress) -> Vec<Bar> {
    let bar = |(label, file): (String, &FileProgress)| Bar {
        label,
        name: file.name.clone(),
        percent: file.percent,
        read: bytes(file.read),
        size: bytes(file.size),
        reading: file.reading,
    };
    progress.boot_files().into_iter().map(bar).collect()
}

fn strip(snapshot: &ReadingSnapshot) -> Option<Strip> {
    let file = snapshot.files.iter().filter(|file| file.is_asked_for()).max_by_key(|file| file.size)?;
    let percent = u128::from(file.read) * 100 / u128::from(file.size.max(1));
    let ranges = count(file.ranges.len(), "range");
    let label = format!("{percent} % of {}, in {ranges}", file.name);
    Some(Strip { file: file.name, path: path(&file.ranges, file.size), label })
}

/// Draws ranges as rectangles. One that would be narrower than a unit is widened, so that it can be seen.
fn path(ranges: &[Range<u64>], size: u64) -> String {
    let scaled = |offset: u64| u64::try_from(u128::from(offset) * u128::from(WIDTH) / u128::from(size.max(1)));
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for range in ranges {
        let start = scaled(range.start).unwrap_or(WIDTH).min(WIDTH - 1);
        let end = scaled(range.end.saturating_sub(1)).unwrap_or(WIDTH).min(WIDTH - 1) + 1;
        match spans.last_mut() {
            Some((_, last)) if *last >= start => *last = end.max(*last),
            _ => spans.push((start, end)),
        }
    }
    spans.iter().fold(String::new(), |mut path, (start, end)| {
        // Writing to a text does not fail.
        let _ = write!(path, "M{start} 0H{end}V8H{start}z");
        path
    })
}

fn readers(snapshot: &ReadingSnapshot) -> Vec<Reader> {
    let of_file = |file: &FileSnapshot| -> Vec<Reader> {
        let name = file.name;
        let reader = |client: &media::reading::Client| Reader {
            file: name,
            address: client.address.to_string(),
            agent: client.user_agent.clone().unwrap_or_default(),
            requests: client.gets + client.heads,
            sent: bytes(client.sent),
            last: Moment::of(client.last.to_string()),
        };
        file.clients.iter().map(reader).collect()
    };
    snapshot.files.iter().flat_map(of_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_drawn_to_scale_and_small_ones_are_visible() {
        let one = |range: Range<u64>, size| path(&[range], size);
        assert_eq!(path(&[], 1000), "");
        assert_eq!(one(0..1000, 1000), "M0 0H400V8H0z");
        assert_eq!(path(&[0..250, 500..501], 1000), "M0 0H100V8H0zM200 0H201V8H200z");
        assert_eq!(one(999..1000, 1000), "M399 0H400V8H399z");
        assert_eq!(path(&[0..1, 2..3, 5..6], 1_000_000), "M0 0H1V8H0z", "what touches is one");
        assert_eq!(one(0..u64::MAX, u64::MAX), "M0 0H400V8H0z");
        assert_eq!(one(5..9, 0), "M399 0H400V8H399z");
    }
}
