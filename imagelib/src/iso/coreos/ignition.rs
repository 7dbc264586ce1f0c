//! The area that the boot loader hands to the kernel as a second initramfs.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::CoreosIsoError;
use crate::iso::fields::read_bytes;
use crate::iso::{Extent, Volume};
use crate::overlay::Patch;
use crate::source::Source;

pub(super) const IGNINFO: &str = "coreos/igninfo.json";

/// Where the area is when nothing says so: before March 2023.
const DEFAULT_FILE: &str = "images/ignition.img";

/// The largest area that makes sense, in bytes: it is memory for everyone who reads what is embedded.
pub(super) const MAX_AREA_BYTES: u64 = 64 << 20;

/// Where an archive may begin, in bytes.
const ALIGNMENT: u64 = 4;

/// How much of the area is looked at in one go, in bytes.
const STEP: u64 = 64 << 10;

/// What most of it is compared with, which is faster than to look at each byte.
const ZEROS: [u8; 4096] = [0; 4096];

/// `igninfo.json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Json {
    pub(super) file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
}

/// The area for an initramfs archive: `config.ign` and NetworkManager keyfiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnitionArea {
    json: Box<Json>,
    whole_file: bool,
    /// How many bytes at its beginning are left free.
    skipped: u64,
    offset: u64,
    length: u64,
    used: u64,
}

impl IgnitionArea {
    pub(super) fn probe(source: &dyn Source, volume: &Volume) -> Result<Option<Self>, CoreosIsoError> {
        let (by, json) = match super::read_json::<Json>(source, volume, IGNINFO)? {
            Some((json, _)) => (IGNINFO, json),
            None if super::find(source, volume, DEFAULT_FILE)?.is_some() => {
                (DEFAULT_FILE, Json { file: DEFAULT_FILE.to_owned(), offset: None, length: None })
            }
            None => return Ok(None),
        };
        let Some(entry) = super::find(source, volume, &json.file)? else {
            return Err(CoreosIsoError::NoFile { by, path: json.file });
        };
        let start = json.offset.unwrap_or(0);
        // On x86_64 the whole file is the area; on s390x the area follows the kernel and the initrd in one file, and
        // no length is given only by images from before it was.
        let length = json.length.unwrap_or_else(|| entry.size().saturating_sub(start));
        let (Some(offset), true) = (within(&entry.extents, start, length), length > 0 && !entry.is_directory()) else {
            return Err(CoreosIsoError::Outside { by, path: json.file, offset: start, length });
        };
        if length > MAX_AREA_BYTES {
            return Err(CoreosIsoError::IgnitionSize { size: length, limit: MAX_AREA_BYTES });
        }
        // Behind the initrd in one file, as on s390x, an archive that is not compressed must begin at a multiple of four bytes from the
        // beginning of the initrd, which begins at a page: the kernel finds it nowhere else (init/initramfs.c).
        let skipped = (start.wrapping_neg() % ALIGNMENT).min(length);
        let used = used(source, offset, length)?;
        let whole_file = start == 0 && length == entry.size();
        Ok(Some(Self { json: Box::new(json), whole_file, skipped, offset, length, used }))
    }

    /// The file that holds the area, as a path in the ISO: `images/ignition.img`.
    pub fn file(&self) -> &str {
        &self.json.file
    }

    /// Where an archive in the area begins in the image, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset + self.skipped
    }

    /// How long an archive in the area may be, in bytes.
    pub fn length(&self) -> u64 {
        self.length - self.skipped
    }

    /// How much of it is in use, in bytes: up to the last that is not zero.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Whether nothing is embedded: all zeros.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// What `igninfo.json` says, or would say.
    pub(super) fn description(&self) -> &Json {
        &self.json
    }

    /// Whether the file is nothing but the area.
    pub(super) fn is_whole_file(&self) -> bool {
        self.whole_file
    }

    pub(super) fn read(&self, source: &dyn Source) -> Result<Vec<u8>, CoreosIsoError> {
        Ok(read_bytes(source, self.offset, self.length)?)
    }

    /// The kernel skips zeros behind an archive, and takes anything else for another one: what was there before and
    /// is not overwritten becomes zeros.
    pub(super) fn embed(&self, archive: Bytes) -> Result<Vec<Patch>, CoreosIsoError> {
        let size = archive.len() as u64;
        if size > self.length() {
            return Err(CoreosIsoError::ArchiveTooLarge { size, capacity: self.length() });
        }
        let mut patches = Vec::new();
        let before = self.used.min(self.skipped);
        if before > 0 {
            patches.push(Patch::zeros(self.offset, before));
        }
        if size > 0 {
            patches.push(Patch::bytes(self.offset(), archive));
        }
        let written = self.skipped + size;
        if self.used > written {
            patches.push(Patch::zeros(self.offset + written, self.used - written));
        }
        Ok(patches)
    }
}

/// Where a range of a file stands in the image. A file of several extents would have its areas cut.
pub(super) fn within(extents: &[Extent], start: u64, length: u64) -> Option<u64> {
    match extents {
        [extent] if start.checked_add(length)? <= extent.length => extent.offset.checked_add(start),
        _ => None,
    }
}

/// How much of an area is in use: up to its last byte that is not zero.
fn used(source: &dyn Source, offset: u64, length: u64) -> Result<u64, CoreosIsoError> {
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let bytes = read_bytes(source, offset + start, end - start)?;
        let mut before = bytes.len();
        for piece in bytes.rchunks(ZEROS.len()) {
            before -= piece.len();
            if ZEROS.get(..piece.len()) != Some(piece)
                && let Some(last) = piece.iter().rposition(|&byte| byte != 0)
            {
                return Ok(start + (before + last) as u64 + 1);
            }
        }
        end = start;
    }
    Ok(0)
}
