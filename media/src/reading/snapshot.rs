//! A snapshot of what was read from an image.

use std::net::IpAddr;
use std::ops::Range;
use std::time::{Duration, Instant, SystemTime};

use super::clients::Client;
use super::file::State;
use super::ranges::Ranges;

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

/// What was read from a file of an image.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSnapshot {
    /// The file's name, such as `boot.iso`.
    pub name: &'static str,
    /// The file's size in bytes.
    pub size: u64,
    /// Which bytes were read.
    pub ranges: Ranges,
    /// The last runs of bytes that were read.
    pub recent: Vec<Range<u64>>,
    /// How many bytes were sent. Bytes that were read twice count twice.
    pub sent: u64,
    /// How many answers are being sent.
    pub open: u32,
    /// Bytes sent per second, over the last ten seconds.
    pub rate: u64,
    /// When the first byte was sent.
    pub first: Option<SystemTime>,
    /// When the last byte was sent.
    pub last: Option<SystemTime>,
    /// The time since then.
    pub idle: Option<Duration>,
    /// The clients that requested it.
    pub clients: Vec<ClientSnapshot>,
    /// How many other clients there were.
    pub clients_forgotten: u64,
}

/// A client, by its IP address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSnapshot {
    /// The client's address.
    pub address: IpAddr,
    /// The `User-Agent` header of its last request.
    pub user_agent: Option<String>,
    /// The version of TLS: `1.2`, `1.3` or `other`. `None` on plain HTTP.
    pub tls: Option<&'static str>,
    /// The number of GET requests.
    pub gets: u64,
    /// The number of HEAD requests.
    pub heads: u64,
    /// The number of requests with a `Range` header.
    pub ranges: u64,
    /// How many bytes were sent to it.
    pub bytes: u64,
    /// When its first request arrived.
    pub first: SystemTime,
    /// When its last request arrived, or the last byte was sent to it.
    pub last: SystemTime,
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
    pub(super) fn of(name: &'static str, size: u64, state: State, now: Instant, time: SystemTime) -> Self {
        let ago = |then: Instant| now.saturating_duration_since(then);
        let when = |then: Instant| time.checked_sub(ago(then)).unwrap_or(time);
        let client = |client: &Client| ClientSnapshot {
            address: client.address,
            user_agent: client.user_agent.clone(),
            tls: client.tls,
            gets: client.gets,
            heads: client.heads,
            ranges: client.ranges,
            bytes: client.bytes,
            first: when(client.first),
            last: when(client.last),
        };
        Self {
            name,
            size,
            recent: state.recent.runs().to_vec(),
            sent: state.sent,
            open: state.open,
            rate: state.rate.per_second(now),
            first: state.first.map(when),
            last: state.last.map(when),
            idle: state.last.map(ago),
            clients: state.clients.known().iter().map(client).collect(),
            clients_forgotten: state.clients.forgotten(),
            ranges: state.ranges,
        }
    }

    /// Whether anybody has requested the file.
    pub fn is_asked_for(&self) -> bool {
        self.sent > 0 || !self.clients.is_empty()
    }
}
