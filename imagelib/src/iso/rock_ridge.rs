//! The System Use Sharing Protocol (IEEE P1281) and what of Rock Ridge (P1282) is about names and places.

use super::fields::read_bytes;
use super::record::{Naming, Record};
use super::{BLOCK, IsoError};
use crate::fields::u32_le;
use crate::source::Source;

/// How often a record's system use may go on elsewhere. Real images need one or two.
const MAX_CONTINUATIONS: usize = 8;

/// What Rock Ridge adds to a directory record.
#[derive(Debug, Default)]
pub(super) struct Additions {
    /// The name of the file as it was (NM).
    pub(super) name: Option<String>,
    /// The file is a symbolic link (SL), to this path.
    pub(super) symlink: Option<Symlink>,
    /// The content is compressed (ZF of zisofs).
    pub(super) compressed: bool,
    /// The record stands for a directory that had to move: its block (CL).
    pub(super) relocated_to: Option<u64>,
    /// The record is of a directory that was moved here, and shows only where it came from (RE).
    pub(super) relocated_here: bool,
}

/// Where a symbolic link points, as its components are read.
#[derive(Debug, Default)]
pub(super) struct Symlink {
    target: Vec<u8>,
    /// The component before goes on in the next (P1282 §4.1.3.1).
    unfinished: bool,
}

impl Symlink {
    pub(super) fn target(&self) -> String {
        String::from_utf8_lossy(&self.target).into_owned()
    }

    fn add(&mut self, mut components: &[u8]) {
        while let [flags, length, rest @ ..] = components {
            let Some((part, rest)) = rest.split_at_checked(usize::from(*length)) else { return };
            if !self.unfinished && !self.target.is_empty() && !self.target.ends_with(b"/") {
                self.target.push(b'/');
            }
            self.target.extend_from_slice(match flags & 0b1110 {
                0b0010 => b".",
                0b0100 => b"..",
                0b1000 => b"/",
                _ => part,
            });
            self.unfinished = flags & 1 != 0;
            components = rest;
        }
    }
}

/// How many bytes of every record's system use belong to somebody else, where the root directory's own record says
/// that the protocol is in use at all (SP, P1281 §5.3).
pub(super) fn skip(root_system_use: &[u8]) -> Option<usize> {
    match root_system_use {
        [b'S', b'P', 7, 1, 0xbe, 0xef, skip, ..] => Some(usize::from(*skip)),
        _ => None,
    }
}

/// Reads a record's entries, following them to where they continue (CE). Only trees with Rock Ridge names have any.
pub(super) fn read(
    source: &dyn Source,
    base: u64,
    names: Naming,
    &Record { system_use, offset, .. }: &Record<'_>,
) -> Result<Additions, IsoError> {
    let mut additions = Additions::default();
    let Naming::RockRidge(skip) = names else { return Ok(additions) };
    let system_use = system_use.get(skip..).unwrap_or_default();
    let mut name: Option<Vec<u8>> = None;
    let mut next = entries(system_use, &mut additions, &mut name);
    let mut continuations = 0;
    while let Some((block, start, length)) = next {
        continuations += 1;
        let within = start.checked_add(length).is_some_and(|end| u64::from(end) <= BLOCK);
        if continuations > MAX_CONTINUATIONS || !within {
            return Err(IsoError::Record { offset, reason: "has Rock Ridge entries that continue without end" });
        }
        let from = base.saturating_add(u64::from(block) * BLOCK).saturating_add(u64::from(start));
        next = entries(&read_bytes(source, from, u64::from(length))?, &mut additions, &mut name);
    }
    additions.name = name.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(additions)
}

/// Reads the entries of one area; says where they continue, as block, offset and length.
fn entries(area: &[u8], additions: &mut Additions, name: &mut Option<Vec<u8>>) -> Option<(u32, u32, u32)> {
    let mut rest = area;
    let mut continuation = None;
    while let Some(length) = rest.get(2).copied().map(usize::from) {
        // Padding, or something that is not an entry: the area ends here.
        let Some(entry) = rest.get(..length).filter(|entry| entry.len() >= 4) else { break };
        match entry {
            [b'C', b'E', ..] => {
                continuation = match (u32_le(entry, 4), u32_le(entry, 12), u32_le(entry, 20)) {
                    (Some(block), Some(start), Some(length)) => Some((block, start, length)),
                    _ => None,
                };
            }
            [b'S', b'T', ..] => break,
            // Bits 1 and 2 say "." and "..", which have names of their own (P1282 §4.1.4).
            [b'N', b'M', _, _, flags, part @ ..] if flags & 0b110 == 0 => {
                name.get_or_insert_default().extend_from_slice(part);
            }
            [b'S', b'L', _, _, _, components @ ..] => additions.symlink.get_or_insert_default().add(components),
            [b'Z', b'F', ..] => additions.compressed = true,
            [b'C', b'L', ..] => additions.relocated_to = u32_le(entry, 4).map(u64::from),
            [b'R', b'E', ..] => additions.relocated_here = true,
            _ => {}
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    continuation
}
