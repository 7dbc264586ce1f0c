//! A snapshot of what was read from an image.

use std::ops::Range;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use utoipa::ToSchema;

use super::clients::Client;
use super::file::State;
use super::time::Time;

/// What was read from an image until one moment, and by whom.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadingSnapshot {
    /// When the record began: when the image was published, the server started, or a boot began.
    pub since: SystemTime,
    /// When the snapshot was taken.
    pub taken: SystemTime,
    /// The files of the image.
    pub files: Vec<FileSnapshot>,
}

/// Which bytes of a file of an image were read.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = FileReading)]
pub struct FileSnapshot {
    /// Its name.
    #[schema(example = "boot.iso")]
    pub name: &'static str,
    /// Length in bytes.
    pub size: u64,
    /// How many of its bytes were read at least once.
    pub read: u64,
    /// How many bytes the server has sent; bytes that it sent twice count twice.
    pub sent: u64,
    /// How many answers the server is sending at the moment.
    pub active: u32,
    /// When the server sent the first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_read: Option<Time>,
    /// When the server sent the last byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_read: Option<Time>,
    /// Which bytes were read.
    #[schema(value_type = Vec<ReadRange>)]
    pub ranges: Vec<Range<u64>>,
    /// Whether the server has merged close ranges, as if the bytes between them had been read, because there were too many.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approximate: bool,
    /// The clients that requested it: the last 16 addresses.
    pub clients: Vec<Client>,
    /// How many more addresses requested it.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_clients: u64,
    /// The last runs of bytes that were read.
    #[serde(skip)]
    pub recent: Vec<Range<u64>>,
    /// Bytes sent per second, over the last ten seconds.
    #[serde(skip)]
    pub rate: u64,
    /// The time since the last byte was sent.
    #[serde(skip)]
    pub idle: Option<Duration>,
}

/// A range of bytes in a file.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents how serde writes a range")]
struct ReadRange {
    /// The offset of the first byte.
    start: u64,
    /// The offset after the last byte.
    end: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ReadingSnapshot {
    /// Bytes sent per second, over the last ten seconds.
    pub fn rate(&self) -> u64 {
        self.files.iter().map(|file| file.rate).fold(0, u64::saturating_add)
    }

    /// The time since the last byte was sent.
    pub fn idle(&self) -> Option<Duration> {
        self.files.iter().filter_map(|file| file.idle).min()
    }
}

impl FileSnapshot {
    pub(super) fn of(name: &'static str, size: u64, state: &State, now: Instant, time: SystemTime) -> Self {
        let ago = |then: Instant| now.saturating_duration_since(then);
        let when = |then: Instant| Time(time.checked_sub(ago(then)).unwrap_or(time));
        Self {
            name,
            size,
            read: state.ranges.bytes(),
            sent: state.sent,
            active: state.open,
            first_read: state.first.map(when),
            last_read: state.last.map(when),
            ranges: state.ranges.as_slice().to_vec(),
            approximate: state.ranges.are_approximate(),
            clients: state.clients.known().to_vec(),
            more_clients: state.clients.forgotten(),
            recent: state.recent.runs().to_vec(),
            rate: state.rate.per_second(now),
            idle: state.last.map(ago),
        }
    }

    /// Whether anybody has requested the file.
    pub fn is_asked_for(&self) -> bool {
        self.sent > 0 || !self.clients.is_empty()
    }
}
