//! A device in memory for fatfs: what it may read is kept, what it writes is remembered, and in the end there is what
//! has changed.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use bytes::Bytes;

use super::directory::{ATTRIBUTE_LONG, RECORD};
use crate::fields::put;
use crate::overlay::Patch;

/// The granularity in which written bytes are kept.
const PAGE: u64 = 512;
const PAGE_BYTES: usize = 512;
/// Unchanged bytes between two changes up to which one patch holds both.
const GAP: u64 = 32;

/// The device.
pub(super) struct Device<'a> {
    /// What it has before anything is written, by where it begins; anything else cannot be read.
    pieces: &'a BTreeMap<u64, Bytes>,
    size: u64,
    position: u64,
    written: BTreeMap<u64, Box<[Option<u8>; PAGE_BYTES]>>,
}

impl<'a> Device<'a> {
    pub(super) fn new(pieces: &'a BTreeMap<u64, Bytes>, size: u64) -> Self {
        Self { pieces, size, position: 0, written: BTreeMap::new() }
    }

    /// Puts bytes where they were before, as far as that is known.
    pub(super) fn restore(&mut self, offset: u64, length: usize) {
        if let Some(bytes) = self.before(offset, length) {
            self.put(offset, &bytes);
        }
    }

    /// Takes the long names away from the records of a new directory for itself and the one above. fatfs writes them, and the file
    /// system has none there (FAT32 File System Specification 1.03, page 25): fsck.fat would rename the records. If the one above is
    /// the root, it counts as cluster 0.
    pub(super) fn shorten_dots(&mut self, below_root: bool) {
        for bytes in self.written.values_mut() {
            let start: Option<Vec<u8>> = bytes.iter().take(4 * RECORD).copied().collect();
            let Some(start) = start else { continue };
            let (records, _) = start.as_chunks::<RECORD>();
            let [long, own, long_above, above] = records else { continue };
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
                for (target, byte) in bytes.iter_mut().zip(shortened) {
                    *target = Some(byte);
                }
            }
        }
    }

    /// What has changed, as patches that are moved by `offset`.
    pub(super) fn changes(&self, offset: u64) -> Vec<Patch> {
        let mut changes: Vec<(u64, Vec<u8>)> = Vec::new();
        for (page, bytes) in &self.written {
            let start = page * PAGE;
            let before = self.before(start, PAGE_BYTES).unwrap_or_default();
            for (index, position) in (start..start + PAGE).enumerate() {
                let Some(byte) = bytes.get(index).copied().flatten() else { continue };
                if before.get(index) == Some(&byte) {
                    continue;
                }
                let between =
                    changes.last().and_then(|(start, bytes)| self.between(start + bytes.len() as u64, position));
                match (changes.last_mut(), between) {
                    (Some((_, change)), Some(between)) => {
                        change.extend(between);
                        change.push(byte);
                    }
                    _ => changes.push((position, vec![byte])),
                }
            }
        }
        changes.into_iter().map(|(position, bytes)| Patch::bytes(offset + position, bytes)).collect()
    }

    /// The bytes from the end of a change to the next, where they are few and known.
    fn between(&self, end: u64, next: u64) -> Option<Vec<u8>> {
        if next - end > GAP { None } else { (end..next).map(|at| self.byte(at)).collect() }
    }

    /// The bytes that were there from `offset` on, up to `length` of them; none where they are not known.
    fn before(&self, offset: u64, length: usize) -> Option<Bytes> {
        let (start, piece) = self.pieces.range(..=offset).next_back()?;
        let skip = usize::try_from(offset - start).ok().filter(|skip| *skip < piece.len())?;
        Some(piece.slice(skip..piece.len().min(skip.saturating_add(length))))
    }

    /// The byte that stands there now, where it is known.
    fn byte(&self, offset: u64) -> Option<u8> {
        let (page, index) = place(offset);
        let written = self.written.get(&page).and_then(|bytes| bytes.get(index).copied().flatten());
        written.or_else(|| self.before(offset, 1).and_then(|byte| byte.first().copied()))
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) {
        for (at, byte) in (offset..).zip(bytes) {
            let (page, index) = place(at);
            let page = self.written.entry(page).or_insert_with(|| Box::new([None; PAGE_BYTES]));
            if let Some(target) = page.get_mut(index) {
                *target = Some(*byte);
            }
        }
    }
}

fn place(offset: u64) -> (u64, usize) {
    (offset / PAGE, usize::try_from(offset % PAGE).unwrap_or(0))
}

impl Read for Device<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (page, index) = place(self.position);
        let rest = usize::try_from(self.size.saturating_sub(self.position)).unwrap_or(PAGE_BYTES);
        let length = buffer.len().min(rest).min(PAGE_BYTES - index);
        let missing = || io::Error::other(format!("byte {} of the file system is not kept", self.position));
        let mut count = 0;
        if self.written.contains_key(&page) {
            for (target, at) in buffer.iter_mut().take(length).zip(self.position..) {
                *target = self.byte(at).ok_or_else(missing)?;
                count += 1;
            }
        } else if length > 0 {
            let bytes = self.before(self.position, length).ok_or_else(missing)?;
            for (target, byte) in buffer.iter_mut().zip(&bytes) {
                *target = *byte;
            }
            count = bytes.len();
        }
        self.position += count as u64;
        Ok(count)
    }
}

impl Write for Device<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let rest = usize::try_from(self.size.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let bytes = buffer.get(..rest).unwrap_or(buffer);
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
