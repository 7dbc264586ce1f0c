//! The note in an image that dayone has changed it: in the descriptors' field for the application's use (ECMA-119
//! §8.4.32), whose contents the standard leaves open. Images leave it blank, but for the checksum of isomd5sum or the tags of
//! SUSE's `tagmedia` at its beginning.

use std::ops::Range;

use super::fields::read_bytes;
use super::{BLOCK, DescriptorKind, IsoError, Volume};
use crate::source::Source;

const TEXT: &[u8] = b"changed by dayone";
/// The place of the field in a descriptor.
pub(super) const APPLICATION_USE: Range<usize> = 883..1395;
/// The end of the field.
const PLACE: Range<usize> = APPLICATION_USE.end - TEXT.len()..APPLICATION_USE.end;

/// Writes the note into a descriptor, unless something else is in its place. Returns whether it is there.
pub(super) fn write(descriptor: &mut [u8]) -> bool {
    let Some(field) = descriptor.get_mut(APPLICATION_USE) else { return false };
    let Some((before, place)) = field.split_last_chunk_mut::<{ TEXT.len() }>() else { return false };
    if !is_blank(place) {
        return false;
    }
    if !is_blank(before) {
        // `tagmedia` ends a tag only at a semicolon. Without one, the note would belong to the value of the last tag, for example
        // to the password of root for Agama's live system.
        let Some(last) = before.last_mut().filter(|last| matches!(**last, 0 | b' ' | b';')) else { return false };
        *last = b';';
    }
    place.copy_from_slice(TEXT);
    true
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, 0 | b' '))
}

/// Whether the note stands in the primary descriptor.
pub(crate) fn is_marked(source: &dyn Source, volume: &Volume) -> Result<bool, IsoError> {
    let Some(primary) = volume.descriptors().iter().find(|found| found.kind == DescriptorKind::Primary) else {
        return Ok(false);
    };
    Ok(read_bytes(source, primary.offset, BLOCK)?.get(PLACE) == Some(TEXT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_written_stays() {
        let mut block = vec![0; 2048];
        block[1394] = b'x';
        let before = block.clone();
        assert!(!write(&mut block));
        assert_eq!(block, before);
        block[1394] = b' ';
        assert!(write(&mut block));
        assert!(block.ends_with(&[0; 653]) && block[..1395].ends_with(TEXT));
        assert_eq!(block[..1395 - TEXT.len()], [0_u8; 1395 - TEXT.len()]);
    }

    #[test]
    fn the_tag_before_it_keeps_its_value() {
        let written = |length: usize| {
            let mut block = vec![b' '; 2048];
            block[883..883 + length].fill(b'x');
            let written = write(&mut block);
            let text = String::from_utf8(block[883..1395].to_vec()).unwrap();
            (written, text.split(';').map(|tag| tag.trim().to_owned()).collect::<Vec<_>>())
        };
        for length in [1, 512 - TEXT.len() - 1] {
            assert_eq!(written(length), (true, vec!["x".repeat(length), "changed by dayone".to_owned()]));
        }
        let full = 512 - TEXT.len();
        assert_eq!(written(full), (false, vec!["x".repeat(full)]));
        let mut block = vec![b' '; 2048];
        block[1395 - TEXT.len() - 1] = b';';
        assert!(write(&mut block) && block[..1395].ends_with(b" ;changed by dayone"));
    }
}
