//! Files with the checksums of other files: `md5sum.txt`, `SHA256SUMS` and the like, and the `[checksums]` of
//! `.treeinfo` (productmd). They would be wrong for what is edited.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use data_encoding::HEXLOWER;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::record_id::RecordId;
use crate::iso::Extent;
use crate::overlay::{Content, Segment};
use crate::source::{Role, Source};

/// Zeros that are worth hashing while an image is planned.
const MAX_HASHED_ZEROS: u64 = 1 << 20;

/// A file with checksums.
#[derive(Debug)]
pub(super) struct ChecksumFile {
    pub(super) path: String,
    pub(super) record: RecordId,
    pub(super) extent: Extent,
    /// By the path of the file that it is about.
    pub(super) lines: BTreeMap<String, Line>,
    /// The paths of lines that are not in the image's own spelling, by the record of the file to which they lead.
    pub(super) others: BTreeMap<RecordId, Vec<String>>,
}

/// A line, and its checksum, as ranges of the file.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) line: Range<usize>,
    pub(super) digits: Range<usize>,
}

pub(super) fn lines(text: &[u8]) -> BTreeMap<String, Line> {
    let mut lines = BTreeMap::new();
    let mut at = 0;
    for raw in text.split_inclusive(|byte| *byte == b'\n') {
        let line = at..at + raw.len();
        at = line.end;
        let Some((path, digits)) = std::str::from_utf8(raw).ok().and_then(entry) else { continue };
        let digits = line.start + digits.start..line.start + digits.end;
        lines.insert(format!("/{}", path.trim_start_matches("./").trim_start_matches('/')), Line { line, digits });
    }
    lines
}

/// The path of a line, and where its checksum stands: `DIGITS  PATH`, `DIGITS *PATH`, or `PATH = sha256:DIGITS`.
fn entry(line: &str) -> Option<(&str, Range<usize>)> {
    let text = line.trim_end();
    if let Some((path, value)) = text.split_once(" = ") {
        let (_, digits) = value.split_once(':')?;
        let start = text.len() - digits.len();
        return is_digits(digits).then_some((path.trim(), start..text.len()));
    }
    let (digits, rest) = text.split_once(' ')?;
    let path = rest.strip_prefix([' ', '*']).unwrap_or(rest);
    is_digits(digits).then_some((path, 0..digits.len()))
}

fn is_digits(text: &str) -> bool {
    matches!(text.len(), 32 | 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The three algorithms, having absorbed the same bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Hashes {
    md5: Md5,
    sha1: Sha1,
    sha256: Sha256,
}

impl Hashes {
    /// Those of an extent of an image.
    pub(super) fn of(source: &dyn Source, extent: Extent) -> io::Result<Self> {
        let mut hashes = Self::default();
        let mut at = 0;
        while at < extent.length {
            let part = source.read_vec(extent.offset + at, (extent.length - at).min(1 << 20))?;
            hashes.update(&part);
            at += part.len() as u64;
        }
        Ok(hashes)
    }

    fn update(&mut self, bytes: &[u8]) {
        self.md5.update(bytes);
        self.sha1.update(bytes);
        self.sha256.update(bytes);
    }

    /// The digits, as many as those of the algorithm.
    pub(super) fn digits(&self, length: usize) -> Option<String> {
        Some(match length {
            32 => HEXLOWER.encode(&self.md5.clone().finalize()),
            40 => HEXLOWER.encode(&self.sha1.clone().finalize()),
            64 => HEXLOWER.encode(&self.sha256.clone().finalize()),
            _ => return None,
        })
    }

    /// Those of new content, as far as they are known without reading: it may begin with the content of an extent of
    /// the image of which the hashes are known.
    pub(super) fn of_content(content: &[Segment], known: &BTreeMap<u64, (Extent, Self)>) -> Option<Self> {
        let mut hashes = Self::default();
        for (index, segment) in content.iter().filter(|segment| segment.length() > 0).enumerate() {
            match segment {
                Segment::Own(Content::Bytes(bytes)) => hashes.update(bytes),
                Segment::Own(Content::Zeros(length)) if *length <= MAX_HASHED_ZEROS => {
                    hashes.update(&vec![0; usize::try_from(*length).ok()?]);
                }
                Segment::Base { file: Role::Iso, offset, length } if index == 0 => {
                    let (extent, state) = known.get(offset)?;
                    hashes = (extent.length == *length).then(|| state.clone())?;
                }
                Segment::Base { .. } | Segment::Own(_) => return None,
            }
        }
        Some(hashes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_forms_are_read() {
        let digits = "0123456789abcdef0123456789abcdef";
        let text = format!(
            "[checksums]\n{digits}  ./a b\n{digits} *c\nimages/x.img = md5:{digits}\n# {digits}  d\nshort  e\n{digits}  /f"
        );
        let lines = lines(text.as_bytes());
        assert_eq!(lines.keys().collect::<Vec<_>>(), ["/a b", "/c", "/f", "/images/x.img"]);
        for (path, line) in lines {
            assert_eq!(&text[line.digits.clone()], digits, "{path}");
            assert!(text[line.line.clone()].contains(path.trim_start_matches('/')));
        }
    }

    #[test]
    fn what_is_appended_is_hashed_after_what_was_there() {
        let image = b"..content...".to_vec();
        let extent = Extent { offset: 2, length: 7 };
        let known = [(2, (extent, Hashes::of(&image, extent).unwrap()))].into();
        let base = Segment::Base { file: Role::Iso, offset: 2, length: 7 };
        let content = [base.clone(), Segment::zeros(1), Segment::bytes(&b"x"[..])];
        let hashes = Hashes::of_content(&content, &known).unwrap();
        assert_eq!(hashes.digits(64).unwrap(), HEXLOWER.encode(&Sha256::digest(b"content\0x")));
        assert_eq!(hashes.digits(32).unwrap(), HEXLOWER.encode(&Md5::digest(b"content\0x")));
        assert_eq!(hashes.digits(40).unwrap(), HEXLOWER.encode(&Sha1::digest(b"content\0x")));
        assert!(Hashes::of_content(&content, &BTreeMap::new()).is_none());
        assert!(Hashes::of_content(&[content[2].clone(), base], &known).is_none());
    }
}
