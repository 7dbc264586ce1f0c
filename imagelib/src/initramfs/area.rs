//! The initrd embed area of a CoreOS ISO: a small initramfs behind the large one.

use std::collections::BTreeMap;

use super::{InitramfsError, walk};
use crate::cpio::{CpioError, FileKind};
use crate::source::Source;

/// Reads the regular files in an embed area, or in any small initramfs, by path. If a path occurs twice, the last one counts.
/// An area of zeros has no files. An error if something cannot be read, or the contents have more than `limit` bytes in all.
pub fn read_embed_area<S>(area: &S, limit: u64) -> Result<BTreeMap<String, Vec<u8>>, InitramfsError>
where
    S: Source + ?Sized,
{
    let mut files = BTreeMap::new();
    let mut left = limit;
    let mut refused = None;
    let walked = walk(area, |visit, reader| {
        if visit.entry.kind() != FileKind::File || refused.is_some() {
            return Ok(());
        }
        let path = match String::from_utf8(visit.entry.path()) {
            Ok(path) => path,
            Err(error) => {
                let name = String::from_utf8_lossy(error.as_bytes()).into_owned();
                refused = Some(InitramfsError::Name(name));
                return Ok(());
            }
        };
        match reader.content(left) {
            Ok(content) => {
                left -= content.len() as u64;
                files.insert(path, content);
            }
            Err(CpioError::TooLarge { size, .. }) => refused = Some(InitramfsError::TooLarge { path, size, limit }),
            Err(error) => return Err(error),
        }
        Ok(())
    })?;
    match refused {
        Some(error) => Err(error),
        None => walked.outcome.complete().map(|()| files),
    }
}
