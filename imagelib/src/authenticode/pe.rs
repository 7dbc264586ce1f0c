//! EFI programs as files: PE images (Microsoft's "PE Format"), and which of their bytes a signature covers.
//!
//! The digest is the one that firmware computes (EDK II, `HashPeImage` in `DxeImageVerificationLib.c`): the headers without the
//! checksum and without the entry of the certificate table, then the sections by their place in the file, then the rest up to the
//! certificate table.

use std::io;
use std::ops::Range;

use crate::compression::{Compression, Magic};
use crate::fields::{array, u16_le, u32_le};
use crate::source::Source;

/// The maximum length of all headers, in bytes.
const MAX_HEADERS_BYTES: u64 = 64 << 10;
/// The maximum length of a certificate table, in bytes. Real ones have 1 to 20 KB.
const MAX_CERTIFICATES_BYTES: u64 = 1 << 20;
/// The maximum length of the names of sections that are longer than eight bytes, in bytes.
const MAX_NAMES_BYTES: u64 = 64 << 10;
/// What a COFF symbol takes.
const SYMBOL: u64 = 18;

/// Why a file is no EFI program that firmware would look at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PeError {
    #[error("is not an EFI program: {0}")]
    NotPe(&'static str),
    #[error("is not an EFI program: it is compressed with gzip")]
    Gzip,
    #[error("is a damaged EFI program: {0}")]
    Damaged(&'static str),
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// The headers of an EFI program.
#[derive(Debug)]
pub(crate) struct PeImage {
    pub(crate) machine: u16,
    size: u64,
    /// Where the checksum of four bytes stands.
    checksum: u64,
    /// Where the entry of eight bytes for the certificate table stands, if the directory has it.
    certificates_entry: Option<u64>,
    /// The certificate table; empty if the program is not signed.
    certificates: Range<u64>,
    /// The length of the headers.
    headers: u64,
    sections: Vec<Section>,
}

/// A section.
#[derive(Debug)]
struct Section {
    name: Vec<u8>,
    /// Its bytes in the file.
    range: Range<u64>,
    /// How many of them are in use.
    used: u64,
}

impl PeImage {
    pub(crate) fn read(source: &dyn Source) -> Result<Self, PeError> {
        let size = source.size();
        let bytes = source.read_vec(0, size.min(MAX_HEADERS_BYTES))?;
        if Magic::sniff(&bytes) == Some(Magic::Known(Compression::Gzip)) {
            return Err(PeError::Gzip);
        }
        if !bytes.starts_with(b"MZ") {
            return Err(PeError::NotPe("it does not begin with 'MZ'"));
        }
        Self::parse(source, &bytes, size)
    }

    fn parse(source: &dyn Source, bytes: &[u8], size: u64) -> Result<Self, PeError> {
        let short = || PeError::Damaged("its headers are cut off");
        let start = usize::try_from(u32_le(bytes, 0x3c).ok_or_else(short)?).map_err(|_| short())?;
        let signature: [u8; 4] = array(bytes, start).ok_or(PeError::NotPe("it has no PE header"))?;
        if signature != *b"PE\0\0" {
            return Err(PeError::NotPe("it has no PE header"));
        }
        let coff = bytes.get(start + 4..).ok_or_else(short)?;
        let machine = u16_le(coff, 0).ok_or_else(short)?;
        let count = u16_le(coff, 2).ok_or_else(short)?;
        let optional_size = usize::from(u16_le(coff, 16).ok_or_else(short)?);
        let optional_at = start + 24;
        let optional = bytes.get(optional_at..).and_then(|rest| rest.get(..optional_size)).ok_or_else(short)?;
        // The number of entries in the directory, and the directory.
        let directory = match u16_le(optional, 0).ok_or_else(short)? {
            0x10b => 92,
            0x20b => 108,
            _ => return Err(PeError::NotPe("it is neither PE32 nor PE32+")),
        };
        // EFI applications, drivers and ROM images.
        if !matches!(u16_le(optional, 68), Some(10..=13)) {
            return Err(PeError::NotPe("it is a program for another system"));
        }
        let headers = u64::from(u32_le(optional, 60).ok_or_else(short)?);
        let entries = u32_le(optional, directory).ok_or_else(short)?;
        let entry = directory + 4 + 4 * 8;
        let (certificates_entry, certificates) = if entries > 4 {
            let offset = u64::from(u32_le(optional, entry).ok_or_else(short)?);
            let length = u64::from(u32_le(optional, entry + 4).ok_or_else(short)?);
            (Some((optional_at + entry) as u64), offset..offset + length)
        } else {
            (None, 0..0)
        };
        if !certificates.is_empty() && certificates.end > size {
            return Err(PeError::Damaged("its certificate table is cut off"));
        }
        let checksum = (optional_at + 64) as u64;
        let behind_entry = certificates_entry.map_or(checksum + 4, |entry| entry + 8);
        if headers > size || headers < behind_entry {
            return Err(PeError::Damaged("the length of its headers is wrong"));
        }
        let names = names(source, coff, size)?;
        let table = bytes.get(optional_at + optional_size..).ok_or_else(short)?;
        let mut sections = Vec::new();
        for index in 0..usize::from(count) {
            let record: [u8; 40] = array(table, index * 40).ok_or_else(short)?;
            sections.push(Section::read(&record, &names, size)?);
        }
        Ok(Self { machine, size, checksum, certificates_entry, certificates, headers, sections })
    }

    /// The ranges of the file that a signature covers, in the order in which they are hashed.
    pub(crate) fn signed_ranges(&self) -> Result<Vec<Range<u64>>, PeError> {
        let mut ranges = Vec::new();
        ranges.push(0..self.checksum);
        match self.certificates_entry {
            Some(entry) => ranges.extend([self.checksum + 4..entry, entry + 8..self.headers]),
            None => ranges.push(self.checksum + 4..self.headers),
        }
        let mut sections: Vec<&Section> = self.sections.iter().filter(|section| !section.range.is_empty()).collect();
        sections.sort_by_key(|section| section.range.start);
        ranges.extend(sections.iter().map(|section| section.range.clone()));
        let hashed = sections.iter().fold(self.headers, |sum, section| {
            sum.saturating_add(section.range.end.saturating_sub(section.range.start))
        });
        let end = self.size - self.certificates.end.saturating_sub(self.certificates.start);
        if self.size > hashed {
            if hashed > end {
                return Err(PeError::Damaged("its certificate table overlaps its sections"));
            }
            ranges.push(hashed..end);
        }
        Ok(ranges)
    }

    /// Where the entry for the certificate table stands, if the headers have a place for it.
    pub(crate) fn certificates_entry(&self) -> Option<u64> {
        self.certificates_entry
    }

    /// The range of the file with the content of the section with this name.
    pub(crate) fn section_range(&self, name: &[u8]) -> Option<Range<u64>> {
        let section = self.sections.iter().find(|section| section.name == name)?;
        Some(section.range.start..section.range.start + section.used)
    }

    /// The signatures in the certificate table: PKCS #7 structures, each perhaps followed by padding.
    pub(crate) fn signatures(&self, source: &dyn Source) -> Result<Vec<Vec<u8>>, PeError> {
        let length = self.certificates.end.saturating_sub(self.certificates.start);
        if length > MAX_CERTIFICATES_BYTES {
            return Err(PeError::Damaged("its certificate table is too long"));
        }
        let bytes = source.read_vec(self.certificates.start, length)?;
        let mut rest = bytes.as_slice();
        let mut signatures = Vec::new();
        // The length counts from its own first byte on, and the next one begins at a multiple of eight.
        while let Some(length) = u32_le(rest, 0).and_then(|length| usize::try_from(length).ok()) {
            let kind = u16_le(rest, 6).unwrap_or(0);
            let Some(signature) = rest.get(8..length) else { break };
            if kind == 2 {
                signatures.push(signature.to_vec());
            }
            rest = rest.get(length.saturating_add(7) / 8 * 8..).unwrap_or_default();
        }
        Ok(signatures)
    }

    /// The bytes of the section with this name; `None` if there is no such section, or if it is longer than `limit`.
    pub(crate) fn section(&self, source: &dyn Source, name: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
        // Linkers cut long names off if the file has no table for them.
        let short = name.get(..8).unwrap_or(name);
        let found = self.sections.iter().find(|section| section.name == name);
        let found = found.or_else(|| self.sections.iter().find(|section| section.name == short));
        let Some(section) = found.filter(|section| section.used <= limit) else { return Ok(None) };
        source.read_vec(section.range.start, section.used).map(Some)
    }
}

impl Section {
    fn read(record: &[u8; 40], names: &[u8], size: u64) -> Result<Self, PeError> {
        let number = |at| u64::from(u32_le(record, at).unwrap_or(0));
        let (used, length, start) = (number(8), number(16), number(20));
        if length > 0 && start + length > size {
            return Err(PeError::Damaged("a section is cut off"));
        }
        let until_zero = |bytes: &[u8]| bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
        let mut name = until_zero(record.get(..8).unwrap_or_default());
        // A slash and a decimal number: the place of a longer name.
        let place = name.strip_prefix(b"/").and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<usize>().ok());
        if let Some(long) = place.and_then(|place| names.get(place..)) {
            name = until_zero(long);
        }
        Ok(Self { name, range: start..start + length, used: used.min(length) })
    }
}

/// The table of long names, which follows the symbols. A program without one has none.
fn names(source: &dyn Source, coff: &[u8], size: u64) -> Result<Vec<u8>, PeError> {
    let (symbols, count) = (u32_le(coff, 8).unwrap_or(0), u32_le(coff, 12).unwrap_or(0));
    let start = u64::from(symbols) + u64::from(count) * SYMBOL;
    if symbols == 0 || start >= size {
        return Ok(Vec::new());
    }
    Ok(source.read_vec(start, (size - start).min(MAX_NAMES_BYTES))?)
}
