//! The end of a file of the audit log: where the chain goes on.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::chain::{Chained, Link};

/// How much of the end of a file is read. An entry has at most some tens of KiB.
pub(super) const WINDOW: u64 = 1 << 20;

/// How an entry begins. Its number follows.
const BEGIN: &[u8] = b"{\"sequence\":";

/// The end of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// The file is empty.
    Empty,
    /// The last entry that is intact, and what is after it and its line end.
    Entry {
        link: Link,
        damaged: Vec<u8>,
        /// Whether the file lacks the line end of the last entry.
        is_unterminated: bool,
        /// Whether it is the first line of the file, too.
        is_first: bool,
    },
    /// The file has only a part of its first entry.
    FirstTorn(Vec<u8>),
    /// The file is something else.
    Foreign,
}

impl Tail {
    /// Reads the end of a file.
    pub(super) fn read(file: &mut File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        let start = size.saturating_sub(WINDOW);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(WINDOW).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(Self::Empty);
        }
        Ok(Self::of(&bytes, start == 0))
    }

    fn of(bytes: &[u8], is_whole: bool) -> Self {
        let mut end = bytes.len();
        let mut is_last = true;
        // From the last line to the first.
        for line in bytes.rsplit(|byte| *byte == b'\n') {
            let begin = end - line.len();
            if let Some(entry) = Chained::read(line) {
                let is_unterminated = is_last;
                let damaged = bytes.get(end + usize::from(!is_unterminated)..).unwrap_or_default().to_vec();
                let is_first = is_whole && begin == 0;
                return Self::Entry { link: entry.link(), damaged, is_unterminated, is_first };
            }
            is_last = false;
            end = begin.saturating_sub(1);
        }
        let is_part = begins_entry(bytes) || bytes.iter().all(|byte| *byte == 0);
        if is_whole && is_part { Self::FirstTorn(bytes.to_vec()) } else { Self::Foreign }
    }
}

/// Whether bytes begin as an entry does, or are a part of such a beginning.
fn begins_entry(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.strip_prefix(BEGIN) else { return BEGIN.starts_with(bytes) };
    rest.iter().find(|byte| !byte.is_ascii_digit()).is_none_or(|byte| *byte == b',')
}

/// The end of a file that was split off.
#[derive(Debug)]
pub(super) struct Earlier {
    pub(super) link: Link,
    /// What is after the last entry.
    pub(super) damaged: Vec<u8>,
    /// The name of the file.
    pub(super) name: String,
}

/// The end of the chain in the files that were split off from `path`: `audit.jsonl.1`, or `audit.jsonl-20260228`.
pub(super) fn of_earlier(path: &Path) -> Option<Earlier> {
    let name = path.file_name()?.to_str()?;
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let paths = fs::read_dir(directory).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_earlier = |path: &PathBuf| {
        let rest = path.file_name().and_then(|other| other.to_str()).and_then(|other| other.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['.', '-'])) && path.is_file()
    };
    let ends = paths.filter(is_earlier).filter_map(|path| {
        let tail = Tail::read(&mut File::open(&path).ok()?).ok()?;
        let Tail::Entry { link, damaged, .. } = tail else { return None };
        Some(Earlier { link, damaged, name: path.file_name()?.to_string_lossy().into_owned() })
    });
    ends.max_by_key(|earlier| earlier.link.sequence)
}

#[cfg(test)]
mod tests {
    use super::super::chain::seal;
    use super::*;

    fn line(sequence: u64) -> String {
        let previous = Link::START.hash;
        seal(&format!("{{\"sequence\":{sequence},\"previous\":\"{previous}\"}}"), &previous).0
    }

    #[test]
    fn the_last_intact_entry_is_found_whatever_is_after_it() {
        let lines = line(1) + &line(2);
        let read = |text: &str| match Tail::of(text.as_bytes(), true) {
            Tail::Entry { link, damaged, is_unterminated, is_first } => {
                assert_eq!(is_first, link.sequence == 1);
                (link.sequence, String::from_utf8(damaged).unwrap(), is_unterminated)
            }
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(read(&lines), (2, String::new(), false));
        assert_eq!(read(lines.trim_end()), (2, String::new(), true));
        assert_eq!(read(&format!("{lines}{{\"sequ")), (2, "{\"sequ".to_owned(), false));
        assert_eq!(read(&format!("{lines}a\n\0\0")), (2, "a\n\0\0".to_owned(), false));
        assert_eq!(read(&format!("{}changed\n", line(1))), (1, "changed\n".to_owned(), false));
    }

    #[test]
    fn another_file_is_not_taken_for_a_log() {
        assert_eq!(Tail::of(b"root:x:0:0\n", true), Tail::Foreign);
        assert_eq!(Tail::of(b"{\"sequence\":1,\"ti", false), Tail::Foreign);
        let torn = b"{\"sequence\":1,\"ti";
        assert_eq!(Tail::of(torn, true), Tail::FirstTorn(torn.to_vec()));
        assert_eq!(Tail::of(b"{\"s", true), Tail::FirstTorn(b"{\"s".to_vec()));
        // After a rotation, the first entry of a file has a larger number.
        for torn in ["{\"sequence\":", "{\"sequence\":57", "{\"sequence\":57,\"time\":\"2026-"] {
            assert_eq!(Tail::of(torn.as_bytes(), true), Tail::FirstTorn(torn.as_bytes().to_vec()));
        }
        assert_eq!(Tail::of(b"{\"sequence\":\"x\"}", true), Tail::Foreign);
    }
}
