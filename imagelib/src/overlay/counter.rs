//! Ascending numbers. In the allocation table of FAT32, a file in one piece is such a chain. For a file of one gigabyte, the
//! chain has a quarter of a megabyte, which need not be in memory.

/// The size of a number in bytes.
const NUMBER: u64 = 4;

/// A run of bytes from the numbers `first`, `first` + 1 and so on, each with four bytes, little-endian. After 2³² - 1 they
/// continue with 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    first: u32,
    /// How many bytes of the numbers the run skips.
    skip: u64,
    length: u64,
}

impl Counter {
    /// `numbers` whole numbers from `first` on.
    pub fn new(first: u32, numbers: u32) -> Self {
        Self { first, skip: 0, length: u64::from(numbers) * NUMBER }
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The `length` bytes from `skip` on. Both must lie within the run.
    #[must_use]
    pub fn part(&self, skip: u64, length: u64) -> Self {
        Self { skip: self.skip + skip, length, ..*self }
    }

    /// Fills `target` with its first bytes and returns their number.
    pub fn fill(&self, target: &mut [u8]) -> usize {
        let count = usize::try_from(self.length).unwrap_or(usize::MAX).min(target.len());
        for (byte, at) in target.iter_mut().zip(self.skip..self.skip + self.length) {
            // There are no more numbers than 32 bits count.
            let number = self.first.wrapping_add(u32::try_from(at / NUMBER).unwrap_or(u32::MAX));
            *byte = number.to_le_bytes().into_iter().nth(usize::try_from(at % NUMBER).unwrap_or(0)).unwrap_or(0);
        }
        count
    }

    /// Bytes that identify it in a hash.
    pub(super) fn identity(&self) -> [u8; 20] {
        let mut identity = [0; 20];
        let parts =
            self.first.to_le_bytes().into_iter().chain(self.skip.to_le_bytes()).chain(self.length.to_le_bytes());
        identity.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
        identity
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::cast_possible_truncation)] // small numbers

    use super::*;

    #[test]
    fn any_part_is_that_of_the_numbers_written_out() {
        let counter = Counter::new(u32::MAX - 2, 6);
        let numbers = [u32::MAX - 2, u32::MAX - 1, u32::MAX, 0, 1, 2];
        let all: Vec<u8> = numbers.into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(counter.len(), all.len() as u64);
        for start in 0..all.len() {
            for end in start..=all.len() {
                let part = counter.part(start as u64, (end - start) as u64);
                let mut bytes = vec![0xAA; 30];
                let count = part.fill(&mut bytes);
                assert_eq!(&bytes[..count], &all[start..end]);
                assert_eq!(part.is_empty(), start == end);
                let inner = part.part(part.len() / 2, part.len() - part.len() / 2);
                assert_eq!(inner.fill(&mut bytes), (part.len() - part.len() / 2) as usize);
                assert_eq!(&bytes[..inner.len() as usize], &all[start + (end - start) / 2..end]);
            }
        }
        assert_eq!(counter.fill(&mut [0; 3]), 3);
    }
}
