//! The files of an image that hold checksums of its others.

use super::checksums::{ChecksumFile, lines};
use super::tree::{File, Found, Image};
use crate::iso::fields::read_bytes;
use crate::iso::{Extent, IsoError};
use crate::source::Source;

/// Where distributions put them.
const FILES: [&str; 9] = [
    "/md5sum.txt",
    "/sha1sum.txt",
    "/sha256sum.txt",
    "/MD5SUMS",
    "/SHA1SUMS",
    "/SHA256SUMS",
    "/CHECKSUMS",
    "/sha256sums.txt",
    "/.treeinfo",
];
/// The maximum length of a file with checksums, in bytes. That of a Debian DVD has half a megabyte.
const MAX_LIST_BYTES: u64 = 4 << 20;

/// Reads the files with checksums that an image has.
pub(super) fn read(source: &dyn Source, image: &Image) -> Result<Vec<ChecksumFile>, IsoError> {
    let mut files = Vec::new();
    for path in FILES {
        let Some(Found::File(record, File { extent, reason: None })) = image.find(0, path) else { continue };
        let Extent { offset, length } = *extent;
        if length > MAX_LIST_BYTES || files.iter().any(|file: &ChecksumFile| file.record == record) {
            continue;
        }
        let text = read_bytes(source, offset, length)?;
        let path = image.path(record).unwrap_or_else(|| path.to_owned());
        files.push(ChecksumFile { path, record, extent: *extent, lines: lines(&text) });
    }
    Ok(files)
}
