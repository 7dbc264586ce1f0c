//! Finds entries that were changed, removed, inserted or moved.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

use imagelib::digest::Digest;
use serde::Deserialize;

use super::chain::{Chained, Link};
use super::log_text::{Line, LineEnd, LogText, LogTextError};
use super::unfinished::{Recovered, Unexplained};

/// How many faults are listed. Whoever has replaced a file by something else need not read a line about each of its lines.
const MAX_FAULTS: usize = 10_000;

/// A place that is not as the server wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The line is no entry, or not the one that the server wrote.
    #[error("the entry was changed, or somebody inserted the line")]
    Changed,
    /// Entries are missing before the line.
    #[error("the entries {first} to {last} are missing before this line")]
    Missing {
        /// The number of the first missing entry.
        first: u64,
        /// The number of the last missing entry.
        last: u64,
    },
    /// The entry does not belong here.
    #[error("entry {found} is where entry {expected} should be: entries were inserted, repeated or moved")]
    Order {
        /// Its number.
        found: u64,
        /// The number that belongs here.
        expected: u64,
    },
    /// The entry does not continue the entry before it.
    #[error("the entry does not continue the one before it: another entry was there")]
    Broken,
    /// The file ends within a line.
    #[error("the file ends within this line; if the server has failed, it records that when it starts again")]
    Unfinished,
    /// There are too many faults.
    #[error("dayone has found {MAX_FAULTS} faults, and reads no further")]
    TooMany,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.kind)
    }
}

/// Something that is not a fault, but worth knowing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is worth knowing.
    pub kind: NoteKind,
}

/// What is worth knowing of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteKind {
    /// So many bytes before this line are not an entry. The server found and recorded them.
    #[error(
        "the server found {0} bytes of an unfinished entry before this line, and recorded them: it or its machine had failed"
    )]
    Unfinished(u64),
    /// The file before ends with so many bytes that are not an entry. The server found and recorded them.
    #[error(
        "the server found {0} bytes of an unfinished entry at the end of the file before this one, and recorded them: it or its \
         machine had failed"
    )]
    UnfinishedEarlier(u64),
    /// The first entry of all files is not the first one of the log.
    #[error(
        "entries 1 to {0} are not in these files: pass the earlier files, too, unless they were deleted on purpose"
    )]
    Earlier(u64),
    /// A server starts, and the one before it has not recorded its stop.
    #[error(
        "the server before this start did not record that it stopped: it was killed, its machine failed, or it could not write its \
         last entries. The log of the server says which"
    )]
    NotStopped,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.kind)
    }
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// What is wrong, in the order of the entries.
    pub faults: Vec<Fault>,
    /// What is worth knowing.
    pub notes: Vec<Note>,
    /// How many entries are intact.
    pub entries: u64,
    /// The number of the first entry.
    pub first: Option<u64>,
    /// The number and the hash of the last entry.
    pub last: Option<(u64, Digest)>,
    /// Whether an entry has the hash that was asked for.
    pub has_known: bool,
}

/// What happened.
#[derive(Deserialize)]
struct Happened {
    event: String,
}

/// Checks the files of a log. Their order does not matter: files are sorted by their first entries. `known` is the hash of an entry
/// that must be among them, so that nobody can replace the whole log or cut off its end unnoticed.
pub fn verify(files: Vec<LogText>, known: Option<Digest>) -> Result<Verified, LogTextError> {
    let firsts: Result<Vec<_>, _> = files.into_iter().map(|file| Ok((first_entry(&file)?, file))).collect();
    let mut files = firsts?;
    files.sort_by_key(|(first, _)| *first);
    let mut verifier = Verifier {
        verified: Verified::default(),
        expected: None,
        known,
        unexplained: Unexplained::default(),
        earlier: None,
        is_running: false,
    };
    for (_, file) in &files {
        verifier.file(file)?;
    }
    Ok(verifier.verified)
}

/// The number of the first entry of a file.
fn first_entry(file: &LogText) -> Result<Option<u64>, LogTextError> {
    let mut first = None;
    file.each_line(|line| {
        first = Chained::read(line.bytes).map(|entry| entry.sequence);
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(first)
}

struct Verifier {
    verified: Verified,
    /// The end of the chain so far. None if nothing is known about it.
    expected: Option<Link>,
    known: Option<Digest>,
    /// Lines that are not entries, and that no later entry has explained.
    unexplained: Unexplained,
    /// The end of the file before, which the first entries of this one may explain.
    earlier: Option<EarlierEnd>,
    /// Whether a server has recorded something since the last `server-stopped`.
    is_running: bool,
}

/// The end of a file that is not an entry, and that the server may have left.
struct EarlierEnd {
    lines: Unexplained,
    /// Where its faults are.
    faults: Range<usize>,
}

impl Verifier {
    fn file(&mut self, file: &LogText) -> Result<(), LogTextError> {
        let mut unfinished = None;
        file.each_line(|line| {
            if self.verified.faults.len() > MAX_FAULTS {
                return ControlFlow::Break(());
            }
            match line.end {
                LineEnd::File => match Chained::read(line.bytes) {
                    // Only its line end is missing. The server continues the chain behind it, perhaps in the next file.
                    Some(entry) => self.entry(file, line, entry),
                    None => unfinished = Some((line.number, line.bytes.to_vec())),
                },
                LineEnd::Cut => self.unexplained_line(file, line),
                // A server that writes to its standard output ends a line that it may have begun before.
                LineEnd::Newline if line.bytes.is_empty() => {}
                LineEnd::Newline => match Chained::read(line.bytes) {
                    Some(entry) => self.entry(file, line, entry),
                    None => self.unexplained_line(file, line),
                },
            }
            ControlFlow::Continue(())
        })?;
        self.earlier = None;
        match unfinished {
            Some((number, bytes)) if self.unexplained.add(number, &bytes, LineEnd::File) => {
                self.end_unfinished(file, Some(number));
            }
            Some((number, _)) => {
                self.report_unexplained(file);
                self.fault(file, number, FaultKind::Unfinished);
            }
            // The server may have failed after the line end that it writes before it records what it found.
            None if self.is_left() => self.end_unfinished(file, None),
            None => self.report_unexplained(file),
        }
        Ok(())
    }

    /// Whether the server may have left the lines that are not entries.
    fn is_left(&self) -> bool {
        self.expected.is_some_and(|end| self.unexplained.are_left_after(end, end))
    }

    /// Reports the lines at the end of a file, of which `unfinished` has no line end. The chain continues after the last entry, because
    /// there may have been no others.
    fn end_unfinished(&mut self, file: &LogText, unfinished: Option<usize>) {
        let is_left = self.is_left();
        let lines = std::mem::take(&mut self.unexplained);
        let first = self.verified.faults.len();
        for (line, _) in lines.lines() {
            let kind = if unfinished == Some(line) { FaultKind::Unfinished } else { FaultKind::Changed };
            self.fault(file, line, kind);
        }
        if is_left {
            self.earlier = Some(EarlierEnd { lines, faults: first..self.verified.faults.len() });
        }
    }

    fn fault(&mut self, file: &LogText, line: usize, kind: FaultKind) {
        let kind = match self.verified.faults.len() {
            ..MAX_FAULTS => kind,
            MAX_FAULTS => FaultKind::TooMany,
            _ => return,
        };
        self.verified.faults.push(Fault { path: file.path.clone(), line, kind });
    }

    fn note(&mut self, file: &LogText, line: usize, kind: NoteKind) {
        self.verified.notes.push(Note { path: file.path.clone(), line, kind });
    }

    fn entry(&mut self, file: &LogText, read: Line<'_>, entry: Chained) {
        let line = read.number;
        let happened = serde_json::from_slice::<Happened>(read.bytes).ok();
        let event = happened.as_ref().map(|happened| happened.event.as_str());
        self.look_for_recovery(file, read, event);
        if let Some(event) = event {
            self.look_for_stop(file, line, event);
        }
        self.report_unexplained(file);
        let found = entry.sequence;
        match self.expected {
            None if self.verified.first.is_none() && found == 1 && entry.previous != Link::START.hash => {
                self.fault(file, line, FaultKind::Broken);
            }
            None => {}
            Some(end) => {
                let expected = end.sequence.saturating_add(1);
                if found > expected {
                    self.fault(file, line, FaultKind::Missing { first: expected, last: found - 1 });
                } else if found < expected {
                    self.fault(file, line, FaultKind::Order { found, expected });
                } else if entry.previous != end.hash {
                    self.fault(file, line, FaultKind::Broken);
                }
            }
        }
        if self.verified.first.is_none() && found > 1 {
            self.note(file, line, NoteKind::Earlier(found - 1));
        }
        self.verified.entries += 1;
        self.verified.first.get_or_insert(found);
        self.verified.last = Some((found, entry.hash));
        self.verified.has_known |= self.known == Some(entry.hash);
        self.expected = Some(entry.link());
    }

    /// Notes that the entry explains lines before it that are not entries.
    fn look_for_recovery(&mut self, file: &LogText, read: Line<'_>, event: Option<&str>) {
        if self.unexplained.first().is_none() && self.earlier.is_none() {
            return;
        }
        let recovered = Recovered::read(read.bytes);
        let (own, of_earlier) = match &recovered {
            Some(recovered) if recovered.is_of_earlier() => (None, Some(recovered)),
            own => (own.as_ref(), None),
        };
        if let Some(own) = own.filter(|own| own.explains(&self.unexplained, self.expected)) {
            self.note(file, read.number, NoteKind::Unfinished(own.bytes));
            self.unexplained = Unexplained::default();
        }
        // The server records the end of the file before in the first entries of a new one, or not at all.
        let Some(earlier) = self.earlier.take() else { return };
        if let Some(recovered) = of_earlier.filter(|recovered| recovered.has_found_end(&earlier.lines)) {
            self.verified.faults.drain(earlier.faults);
            self.note(file, read.number, NoteKind::UnfinishedEarlier(recovered.bytes));
        } else if own.is_some() || event == Some("log-begun") {
            self.earlier = Some(earlier);
        }
    }

    /// Notes a start without a stop before it.
    fn look_for_stop(&mut self, file: &LogText, line: usize, event: &str) {
        match event {
            "server-stopped" => self.is_running = false,
            // A server that starts records these before `server-started`.
            "log-begun" | "log-recovered" => {}
            "server-started" if self.is_running => self.note(file, line, NoteKind::NotStopped),
            _ => self.is_running = true,
        }
    }

    /// A line that is not an entry. The next entry may explain it.
    fn unexplained_line(&mut self, file: &LogText, line: Line<'_>) {
        if !self.unexplained.add(line.number, line.bytes, line.end) {
            self.report_unexplained(file);
            self.report_changed(file, line.number, line.bytes);
        }
    }

    /// Reports the lines that the entry after them has not explained.
    fn report_unexplained(&mut self, file: &LogText) {
        let unexplained = std::mem::take(&mut self.unexplained);
        for (line, bytes) in unexplained.lines() {
            self.report_changed(file, line, bytes);
        }
    }

    /// Reports a line that is not an entry. The chain continues after the number and the hash that the line shows, if it shows any, so
    /// that one changed line is one fault.
    fn report_changed(&mut self, file: &LogText, line: usize, bytes: &[u8]) {
        self.fault(file, line, FaultKind::Changed);
        let is_next =
            |entry: &Chained| self.expected.is_none_or(|link| entry.sequence == link.sequence.saturating_add(1));
        self.expected = Chained::read_unchecked(bytes).filter(is_next).map(|entry| entry.link());
    }
}

#[cfg(test)]
mod tests;
