//! A device in memory for fatfs: what it may read is kept, what it writes is remembered, and in the end there is what
//! has changed.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use bytes::Bytes;

use super::directory::{ATTRIBUTE_LONG, RECORD};
use crate::fields::put;
use crate::overlay::Patch;

/// A cluster begins at a multiple of this.
const SECTOR: u64 = 512;
/// Unchanged bytes between two changes up to which one patch holds both.
const GAP: u64 = 32;

/// The device.
pub(super) struct Device<'a> {
    /// What it has before anything is written, by where it begins; anything else cannot be read.
    pieces: &'a BTreeMap<u64, Bytes>,
    size: u64,
    position: u64,
    /// What was written, by where it begins. No run of bytes overlaps another, or begins where another ends.
    written: BTreeMap<u64, Vec<u8>>,
    /// The sectors whose first bytes the current edit wrote.
    sectors: Vec<u64>,
}

impl<'a> Device<'a> {
    pub(super) fn new(pieces: &'a BTreeMap<u64, Bytes>, size: u64) -> Self {
        Self { pieces, size, position: 0, written: BTreeMap::new(), sectors: Vec::new() }
    }

    /// Begins another edit.
    pub(super) fn begin_edit(&mut self) {
        self.position = 0;
        self.sectors.clear();
    }

    /// Puts bytes where they were before, as far as that is known.
    pub(super) fn restore(&mut self, offset: u64, length: usize) {
        if let Some(bytes) = self.before(offset, length) {
            self.put(offset, &bytes);
        }
    }

    /// Takes the long names away from the records that the current edit made in a new directory for itself and the one above. fatfs
    /// writes them, and the file system has none there (FAT32 File System Specification 1.03, page 25): fsck.fat would rename the
    /// records. If the one above is the root, it counts as cluster 0.
    pub(super) fn shorten_dots(&mut self, below_root: bool) {
        for sector in std::mem::take(&mut self.sectors) {
            let (records, _) = self.written_at(sector).unwrap_or_default().as_chunks::<RECORD>();
            let [long, own, long_above, above, ..] = records else { continue };
            let is_long = |record: &[u8; RECORD]| record.get(11) == Some(&ATTRIBUTE_LONG);
            if is_long(long)
                && own.starts_with(b".          ")
                && is_long(long_above)
                && above.starts_with(b"..         ")
            {
                let mut above = *above;
                if below_root {
                    put(&mut above, 20, &[0; 2]);
                    put(&mut above, 26, &[0; 2]);
                }
                let shortened = [*own, above, [0; RECORD], [0; RECORD]].concat();
                self.put(sector, &shortened);
            }
        }
    }

    /// What has changed, as patches that are moved by `offset`.
    pub(super) fn changes(&self, offset: u64) -> Vec<Patch> {
        let mut changes = Vec::new();
        for (start, run) in &self.written {
            let (mut at, mut rest) = (*start, run.as_slice());
            while !rest.is_empty() {
                let before = self.before(at, rest.len());
                let known_from = || self.pieces.range(at + 1..).next().map_or(u64::MAX, |(start, _)| *start);
                let length = before.as_ref().map_or_else(|| length(at, known_from()), Bytes::len);
                let (bytes, later) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                match &before {
                    None => self.add_change(&mut changes, at, bytes),
                    Some(before) if before == bytes => {}
                    Some(before) => {
                        for (at, (byte, before)) in (at..).zip(bytes.iter().zip(before)) {
                            if byte != before {
                                self.add_change(&mut changes, at, std::slice::from_ref(byte));
                            }
                        }
                    }
                }
                at += bytes.len() as u64;
                rest = later;
            }
        }
        changes.into_iter().map(|(position, bytes)| Patch::bytes(offset + position, bytes)).collect()
    }

    /// Adds a change behind the others, in one with the last if few bytes are between them and they are known.
    fn add_change(&self, changes: &mut Vec<(u64, Vec<u8>)>, at: u64, bytes: &[u8]) {
        if let Some((start, last)) = changes.last_mut() {
            let end = *start + last.len() as u64;
            let between: Option<Vec<u8>> =
                if at - end > GAP { None } else { (end..at).map(|at| self.byte(at)).collect() };
            if let Some(between) = between {
                last.extend(between);
                last.extend_from_slice(bytes);
                return;
            }
        }
        changes.push((at, bytes.to_vec()));
    }

    /// The bytes that were there from `offset` on, up to `length` of them; none where they are not known.
    fn before(&self, offset: u64, length: usize) -> Option<Bytes> {
        let (start, piece) = self.pieces.range(..=offset).next_back()?;
        let skip = usize::try_from(offset - start).ok().filter(|skip| *skip < piece.len())?;
        Some(piece.slice(skip..piece.len().min(skip.saturating_add(length))))
    }

    /// What was written from `offset` on without a break; none where nothing was.
    fn written_at(&self, offset: u64) -> Option<&[u8]> {
        let (start, run) = self.written.range(..=offset).next_back()?;
        run.get(length(*start, offset)..).filter(|run| !run.is_empty())
    }

    /// The byte that stands there now, where it is known.
    pub(super) fn byte(&self, offset: u64) -> Option<u8> {
        let written = self.written_at(offset).and_then(|run| run.first().copied());
        written.or_else(|| self.before(offset, 1).and_then(|byte| byte.first().copied()))
    }

    /// Writes bytes, without being at their place.
    pub(super) fn put(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        // The run that these bytes change or continue, and then those which they reach.
        let earlier = self.written.range(..=offset).next_back().map(|(start, run)| (*start, run.len() as u64));
        let start = earlier.filter(|(start, length)| start + length >= offset).map_or(offset, |(start, _)| start);
        let mut run = self.written.remove(&start).unwrap_or_default();
        let skip = length(start, offset);
        let (over, further) = bytes.split_at_checked(run.len().saturating_sub(skip)).unwrap_or((bytes, &[]));
        put(&mut run, skip, over);
        run.extend_from_slice(further);
        while let Some((next, _)) = self.written.range(start..=end).next() {
            let next = *next;
            let later = self.written.remove(&next).unwrap_or_default();
            run.extend_from_slice(later.get(length(next, end)..).unwrap_or_default());
        }
        self.written.insert(start, run);
    }
}

/// The number of bytes between two offsets.
fn length(start: u64, end: u64) -> usize {
    usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX)
}

impl Read for Device<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(length(self.position, self.size));
        let Some(buffer) = buffer.get_mut(..count).filter(|buffer| !buffer.is_empty()) else { return Ok(0) };
        let missing = || io::Error::other(format!("byte {} of the file system is not kept", self.position));
        let count = if let Some(bytes) = self.written_at(self.position) {
            copy(buffer, bytes)
        } else {
            let written = self.written.range(self.position..).next().map_or(u64::MAX, |(start, _)| *start);
            let count = buffer.len().min(length(self.position, written));
            copy(buffer, &self.before(self.position, count).ok_or_else(missing)?)
        };
        self.position += count as u64;
        Ok(count)
    }
}

/// Copies as many bytes as there are, and returns their number.
fn copy(target: &mut [u8], bytes: &[u8]) -> usize {
    let count = target.len().min(bytes.len());
    put(target, 0, bytes.get(..count).unwrap_or_default());
    count
}

impl Write for Device<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let bytes = buffer.get(..length(self.position, self.size)).unwrap_or(buffer);
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.position.is_multiple_of(SECTOR) {
            self.sectors.push(self.position);
        }
        self.put(self.position, bytes);
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Device<'_> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let position = match position {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.size.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::overlay::Content;

    fn changes(device: &Device<'_>) -> Vec<(u64, Vec<u8>)> {
        let bytes = |patch: Patch| match patch.content {
            Content::Bytes(bytes) => (patch.offset, bytes.to_vec()),
            Content::Zeros(_) | Content::Counter(_) => panic!("bytes"),
        };
        device.changes(1000).into_iter().map(bytes).collect()
    }

    #[test]
    fn what_has_changed_is_what_differs() {
        let pieces = BTreeMap::from([(0, Bytes::from(vec![7; 600])), (2048, Bytes::from(vec![9; 10]))]);
        let mut device = Device::new(&pieces, 4096);
        let mut write = |offset, bytes: &[u8]| {
            device.seek(SeekFrom::Start(offset)).unwrap();
            device.write_all(bytes).unwrap();
        };
        write(500, &[7; 20]);
        write(510, b"abcd");
        write(530, b"x");
        write(2056, &[9, 8, 9]);
        write(3000, &[0]);
        let between = b"abcd\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07x".to_vec();
        let expected = vec![(1510, between), (3057, vec![8, 9]), (4000, vec![0])];
        assert_eq!(changes(&device), expected);
        let mut buffer = [0; 4];
        device.seek(SeekFrom::Start(509)).unwrap();
        device.read_exact(&mut buffer).unwrap();
        assert_eq!(&buffer, b"\x07abc");
        device.seek(SeekFrom::Start(1000)).unwrap();
        assert!(device.read(&mut buffer).is_err());
        device.restore(505, 40);
        assert_eq!(changes(&device).len(), 2);
    }

    proptest! {
        /// Whatever is written in whatever order: the device reads as memory would, and its changes make of what was there what is
        /// there now.
        #[test]
        fn it_is_as_memory(
            known in prop::collection::btree_map(0_u64..60, 0_usize..20, 0..4),
            writes in prop::collection::vec((0_usize..70, prop::collection::vec(0_u8..3, 0..30)), 0..20),
        ) {
            let mut before: Vec<Option<u8>> = vec![None; 80];
            let mut pieces = BTreeMap::new();
            for (start, length) in known {
                let place = super::length(0, start)..super::length(0, start) + length;
                // Pieces do not overlap, not even with one without bytes.
                if before[place.start..=place.end].iter().all(Option::is_none) {
                    before[place].fill(Some(1));
                    pieces.insert(start, vec![1; length].into());
                }
            }
            let mut device = Device::new(&pieces, 80);
            let mut memory = before.clone();
            for (at, bytes) in writes {
                device.seek(SeekFrom::Start(at as u64)).unwrap();
                let count = device.write(&bytes).unwrap();
                prop_assert_eq!(count, bytes.len().min(80 - at));
                for (target, byte) in memory[at..].iter_mut().zip(&bytes) {
                    *target = Some(*byte);
                }
            }
            for (at, byte) in memory.iter().enumerate() {
                let mut read = [9; 10];
                device.seek(SeekFrom::Start(at as u64)).unwrap();
                let count = device.read(&mut read);
                prop_assert_eq!(count.is_ok(), byte.is_some());
                if let Ok(count) = count {
                    let now: Vec<_> = read[..count].iter().copied().map(Some).collect();
                    prop_assert!(count > 0 && memory[at..].starts_with(&now));
                }
            }
            let mut changed = before;
            for (at, bytes) in changes(&device) {
                let start = super::length(1000, at);
                let bytes: Vec<_> = bytes.into_iter().map(Some).collect();
                changed[start..start + bytes.len()].copy_from_slice(&bytes);
            }
            prop_assert_eq!(changed, memory);
        }
    }

    #[test]
    fn it_ends_where_it_ends() {
        let pieces = BTreeMap::new();
        let mut device = Device::new(&pieces, 600);
        device.seek(SeekFrom::End(-2)).unwrap();
        assert_eq!(device.write(b"abc").unwrap(), 2);
        assert_eq!(device.write(b"c").unwrap(), 0);
        assert_eq!(device.read(&mut [0; 4]).unwrap(), 0);
        assert!(device.seek(SeekFrom::Current(-601)).is_err());
    }
}
