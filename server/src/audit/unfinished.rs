//! Lines that are no entries. They may be what a server left of an entry when it failed: the next start says so in `log-recovered`. If
//! that entry is unfinished, too, the next one is about both.

use std::iter;

use imagelib::digest::Digest;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::chain::{Chained, Link};
use super::log_text::LineEnd;
use super::tail::WINDOW;

/// How many lines an entry explains at most: one for each time that the server failed in a row.
const MAX_LINES: usize = 64;

/// How an entry about the end of its own file goes on after the hash of the entry before it.
const RECOVERED: &str = "\"who\":\"server\",\"event\":\"log-recovered\",";

/// The lines without an entry since the last entry.
#[derive(Debug, Default)]
pub(super) struct Unexplained {
    numbers: Vec<usize>,
    /// The lines, with their line ends.
    bytes: Vec<u8>,
}

impl Unexplained {
    /// Adds a line. Returns false if no entry can explain it: a server that fails leaves neither so much nor a line that looks whole.
    pub(super) fn add(&mut self, number: usize, line: &[u8], end: LineEnd) -> bool {
        let size = self.bytes.len().saturating_add(line.len());
        let fits = self.numbers.len() < MAX_LINES && u64::try_from(size).is_ok_and(|size| size < WINDOW);
        if !fits || Chained::read_unchecked(line).is_some() {
            return false;
        }
        self.numbers.push(number);
        self.bytes.extend_from_slice(line);
        if end == LineEnd::Newline {
            self.bytes.push(b'\n');
        }
        true
    }

    /// The number of the first line.
    pub(super) fn first(&self) -> Option<usize> {
        self.numbers.first().copied()
    }

    /// The lines with their numbers.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.numbers.iter().copied().zip(self.bytes.split(|byte| *byte == b'\n'))
    }

    /// Whether a server that fails after the entry `last` leaves these lines: a part of the next entry, and then parts of entries in which
    /// it wanted to record what it had found, all of them after the same entry `end`. So nobody can hide more entries behind this than by
    /// cutting off the end of the file. `end` is a later entry if somebody has cut off entries while the server ran.
    pub(super) fn are_left_after(&self, last: Link, end: Link) -> bool {
        let places = iter::once((last, "")).chain(iter::repeat((end, RECOVERED)));
        self.first().is_some() && self.lines().zip(places).all(|((_, line), (end, event))| is_part(line, end, event))
    }
}

/// Whether a line is the beginning of the entry after `end`, and whether that entry is about `event`. After a power failure, zeros can be
/// in the place of the rest.
fn is_part(line: &[u8], end: Link, event: &str) -> bool {
    let length = line.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let part = line.get(..length).unwrap_or_default();
    let begin = format!("{{\"sequence\":{},\"time\":\"", end.sequence.saturating_add(1));
    let Some(rest) = part.strip_prefix(begin.as_bytes()) else { return begin.as_bytes().starts_with(part) };
    let mut rest = rest.splitn(2, |byte| *byte == b'"');
    let is_of_time = |byte: &u8| byte.is_ascii_digit() || b"-T:.Z".contains(byte);
    let has_time = rest.next().is_some_and(|time| time.iter().all(is_of_time));
    let next = format!(",\"previous\":\"{}\",{event}", end.hash);
    let continues =
        rest.next().is_none_or(|rest| rest.starts_with(next.as_bytes()) || next.as_bytes().starts_with(rest));
    let is_unfinished = match serde_json::from_slice::<IgnoredAny>(part) {
        Err(error) => error.is_eof(),
        // Only its line end is missing.
        Ok(_) => Chained::read(part).is_some(),
    };
    has_time && continues && is_unfinished
}

/// What an entry says of the end of a file that the server found at its start.
#[derive(Debug, Deserialize)]
pub(super) struct Recovered {
    sequence: u64,
    previous: Digest,
    event: String,
    #[serde(default)]
    pub(super) bytes: u64,
    #[serde(default)]
    sha256: String,
    file: Option<String>,
}

impl Recovered {
    /// Reads an entry. None if it is about something else.
    pub(super) fn read(entry: &[u8]) -> Option<Self> {
        let recovered: Self = serde_json::from_slice(entry).ok()?;
        (recovered.event == "log-recovered").then_some(recovered)
    }

    /// Whether it is about the end of an earlier file.
    pub(super) fn is_of_earlier(&self) -> bool {
        self.file.is_some()
    }

    fn has_found(&self, bytes: &[u8]) -> bool {
        u64::try_from(bytes.len()) == Ok(self.bytes) && Digest::of(bytes).to_string() == self.sha256
    }

    /// Whether the server found exactly these lines at the end of a file.
    pub(super) fn has_found_end(&self, lines: &Unexplained) -> bool {
        lines.first().is_some() && self.has_found(&lines.bytes)
    }

    /// Whether the server found exactly these lines between the entry `last`, if it is known, and this one, and may have left them itself.
    pub(super) fn explains(&self, lines: &Unexplained, last: Option<Link>) -> bool {
        // The server ends the last line before it writes this entry. If it failed in between, the next one found that line end, too.
        let is_found = lines.bytes.strip_suffix(b"\n").is_some_and(|bytes| self.has_found(bytes));
        let end = Link { sequence: self.sequence.saturating_sub(1), hash: self.previous };
        let is_left = |last: Link| lines.are_left_after(last, end);
        (is_found || self.has_found(&lines.bytes)) && (is_left(end) || last.is_some_and(is_left))
    }
}
