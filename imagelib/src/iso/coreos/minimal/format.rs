//! `/coreos/miniso.dat`: how coreos-installer (`src/miniso.rs`, version 1) writes down the minimal ISO.
//!
//! The encoding is that of bincode 1 with variable-length integers: a number up to 250 is one byte; 251, 252 and 253
//! say that 2, 4 or 8 bytes follow, little-endian. Texts, lists and byte strings begin with their length; arrays of a
//! fixed length do not.
//!
//! Header: the magic, the version, the version of the program that wrote it. Then the list of files that the two ISOs
//! have in common, each with its first block in the minimal and in the full one and its length in bytes; the SHA-256
//! of the minimal ISO; and all of it that lies between these files, as one xz stream.

use super::MinimalIsoError;
use crate::digest::Digest;
use crate::iso::BLOCK;

const MAGIC: &[u8] = b"MINISO\0\0";
const VERSION: u64 = 1;

/// The fewest bytes that a file in the list takes.
const SHORTEST_FILE: usize = 3;

/// What the file says. Nothing of it has been compared with an image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PackedIso<'a> {
    pub files: Vec<CommonFile>,
    pub digest: Digest,
    pub between: &'a [u8],
}

/// A file that both ISOs have. Offsets and length are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommonFile {
    pub minimal: u64,
    pub full: u64,
    pub length: u64,
}

/// What follows the last field is padding: the file in the ISO has its size before anybody knows what it will hold.
pub(super) fn parse(bytes: &[u8]) -> Result<PackedIso<'_>, MinimalIsoError> {
    let mut reader = Reader(bytes);
    if reader.take(MAGIC.len() as u64)? != MAGIC {
        return Err(MinimalIsoError::Damaged("does not begin with its signature"));
    }
    match reader.number()? {
        VERSION => {}
        version => return Err(MinimalIsoError::Version(version)),
    }
    reader.byte_string()?;
    let count = reader.number()?;
    if count > (reader.0.len() / SHORTEST_FILE) as u64 {
        return Err(CUT_OFF);
    }
    let files = (0..count).map(|_| reader.file()).collect::<Result<_, _>>()?;
    let digest = reader.take(32)?.try_into().map(Digest::from_bytes).map_err(|_| CUT_OFF)?;
    Ok(PackedIso { files, digest, between: reader.byte_string()? })
}

const CUT_OFF: MinimalIsoError = MinimalIsoError::Damaged("ends in the middle");

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], MinimalIsoError> {
        let split = usize::try_from(count).ok().and_then(|count| self.0.split_at_checked(count));
        let (taken, rest) = split.ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, MinimalIsoError> {
        let bytes = match self.take(1)? {
            [byte @ 0..=250] => return Ok(u64::from(*byte)),
            [251] => self.take(2)?,
            [252] => self.take(4)?,
            [253] => self.take(8)?,
            _ => return Err(MinimalIsoError::Damaged("has a number of more than 64 bits")),
        };
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn byte_string(&mut self) -> Result<&'a [u8], MinimalIsoError> {
        let length = self.number()?;
        self.take(length)
    }

    fn file(&mut self) -> Result<CommonFile, MinimalIsoError> {
        let mut number = || match self.number()? {
            number if u32::try_from(number).is_ok() => Ok(number),
            _ => Err(MinimalIsoError::Damaged("has a block number or a length of more than 32 bits")),
        };
        Ok(CommonFile { minimal: number()? * BLOCK, full: number()? * BLOCK, length: number()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(files: &[u8]) -> Vec<u8> {
        [MAGIC, b"\x01\x060.27.0", files, &[7; 32], b"\x03xyz", &[0; 100]].concat()
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        let bytes = packed(b"\x02\x22\xfb\x00\x08\x01\xfc\x00\x00\x01\x00\xfd\x01\x00\x00\x00\x00\x00\x00\x00\xfa");
        let packed = parse(&bytes).unwrap();
        let first = CommonFile { minimal: 34 * 2048, full: 2048 * 2048, length: 1 };
        let second = CommonFile { minimal: 65536 * 2048, full: 2048, length: 250 };
        assert_eq!(packed.files, [first, second]);
        assert_eq!((packed.digest.as_bytes(), packed.between), (&[7; 32], &b"xyz"[..]));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases: [(Vec<u8>, &str); 8] = [
            (vec![0; 16384], "does not begin with its signature"),
            (b"MINISO\0\0\x02".to_vec(), "version 2"),
            (b"MINISO\0\0\x01".to_vec(), "ends in the middle"),
            (b"MINISO\0\0\x01\xfd\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(), "ends in the middle"),
            // As many files as would take all memory.
            (packed(b"\xfd\xff\xff\xff\xff\xff\xff\xff\x0f"), "ends in the middle"),
            (packed(b"\x01\xfd\x00\x00\x00\x00\x01\x00\x00\x00\x01\x01"), "more than 32 bits"),
            (packed(b"\x01\xfe\x01\x01"), "more than 64 bits"),
            (packed(b"\x01\xff\x01\x01"), "more than 64 bits"),
        ];
        for (bytes, expected) in cases {
            let error = parse(&bytes).unwrap_err().to_string();
            assert!(error.contains("/coreos/miniso.dat") && error.contains(expected), "{error}, not {expected}");
        }
        let whole = packed(b"\x01\x01\x01\x01");
        for end in 0..whole.len() - 100 {
            assert!(parse(&whole[..end]).is_err(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&[b"MINISO\0\0\x01\x00", bytes.as_slice()].concat());
        }
    }
}
