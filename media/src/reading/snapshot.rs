//! What is known of the reading of an image at one moment.

use std::net::IpAddr;
use std::ops::Range;
use std::time::{Duration, Instant, SystemTime};

use super::clients::Client;
use super::file::State;
use super::ranges::Ranges;

/// What was read of an image, and by whom.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadingSnapshot {
    /// Since when the record is kept: since the image was published, the server started, or a boot of it began.
    pub since: SystemTime,
    /// When this was known.
    pub taken: SystemTime,
    /// The files of the image.
    pub files: Vec<FileSnapshot>,
}

/// What was read of a file of an image.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSnapshot {
    /// Its name, such as `boot.iso`.
    pub name: &'static str,
    /// Its length in bytes.
    pub size: u64,
    /// Which bytes were read.
    pub ranges: Ranges,
    /// The last runs of bytes that were read.
    pub recent: Vec<Range<u64>>,
    /// How many bytes were sent, those that were read again counted again.
    pub sent: u64,
    /// How many answers are being sent.
    pub open: u32,
    /// Bytes sent per second, over the last ten seconds.
    pub rate: u64,
    /// When the first byte was sent.
    pub first: Option<SystemTime>,
    /// When the last byte was sent.
    pub last: Option<SystemTime>,
    /// How long that was ago.
    pub idle: Option<Duration>,
    /// Who asked for it.
    pub clients: Vec<ClientSnapshot>,
    /// How many clients there were besides.
    pub clients_forgotten: u64,
}

/// A client, by its IP address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSnapshot {
    /// Its address.
    pub address: IpAddr,
    /// What it calls itself; the last name, if it has several.
    pub user_agent: Option<String>,
    /// The version of TLS; none on plain HTTP.
    pub tls: Option<&'static str>,
    /// How often it has asked for the file, or for ranges of it.
    pub gets: u64,
    /// How often it has asked for the head alone.
    pub heads: u64,
    /// How often it has asked for ranges.
    pub ranges: u64,
    /// How many bytes it was sent.
    pub bytes: u64,
    /// When it asked first.
    pub first: SystemTime,
    /// When it asked last, or was sent something.
    pub last: SystemTime,
}

impl ReadingSnapshot {
    /// Bytes sent per second, over the last ten seconds.
    pub fn rate(&self) -> u64 {
        self.files.iter().map(|file| file.rate).fold(0, u64::saturating_add)
    }

    /// How long ago the last byte was sent.
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

    /// Whether anybody has asked for it.
    pub fn is_asked_for(&self) -> bool {
        self.sent > 0 || !self.clients.is_empty()
    }
}
