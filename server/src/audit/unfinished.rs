//! Lines that are no entries. They may be what a server left of an entry when it failed: the next start says so in `log-recovered`. If
//! that entry is unfinished, too, the next one is about both.

use imagelib::digest::Digest;
use serde::Deserialize;

use super::chain::Chained;
use super::tail::WINDOW;

/// How many lines an entry explains at most: one for each time that the server failed in a row.
const MAX_LINES: usize = 64;

/// The lines without an entry since the last entry.
#[derive(Debug, Default)]
pub(super) struct Unexplained {
    numbers: Vec<usize>,
    /// The lines, with line ends between them.
    bytes: Vec<u8>,
}

impl Unexplained {
    /// Adds a line. Returns false if no entry can explain it: a server that fails leaves neither so much nor a line that looks whole.
    pub(super) fn add(&mut self, number: usize, line: &[u8]) -> bool {
        let size = self.bytes.len().saturating_add(line.len());
        let fits = self.numbers.len() < MAX_LINES && u64::try_from(size).is_ok_and(|size| size < WINDOW);
        if !fits || Chained::read_unchecked(line).is_some() {
            return false;
        }
        if !self.numbers.is_empty() {
            self.bytes.push(b'\n');
        }
        self.numbers.push(number);
        self.bytes.extend_from_slice(line);
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
}

/// What an entry says of the end of a file that the server found at its start.
#[derive(Debug, Deserialize)]
pub(super) struct Recovered {
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

    /// Whether the server found exactly these lines.
    pub(super) fn explains(&self, lines: &Unexplained) -> bool {
        lines.first().is_some()
            && u64::try_from(lines.bytes.len()) == Ok(self.bytes)
            && Digest::of(&lines.bytes).to_string() == self.sha256
    }
}
