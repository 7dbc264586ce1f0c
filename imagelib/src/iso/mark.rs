//! The note in an image that dayone has changed it: in the descriptors' field for the application's use (ECMA-119
//! §8.4.32), whose contents the standard leaves open and which images leave blank but for the checksum of isomd5sum at
//! its beginning.

use std::ops::Range;

use super::fields::read_bytes;
use super::{BLOCK, DescriptorKind, IsoError, Volume};
use crate::source::Source;

const TEXT: &[u8] = b"changed by dayone";
/// The end of the field.
const PLACE: Range<usize> = 1395 - TEXT.len()..1395;

/// Writes the note into a descriptor, unless somebody else needs the place.
pub(super) fn write(descriptor: &mut [u8]) {
    if let Some(place) = descriptor.get_mut(PLACE).filter(|place| place.iter().all(|byte| matches!(byte, 0 | b' '))) {
        place.copy_from_slice(TEXT);
    }
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
        write(&mut block);
        assert_eq!(block, before);
        block[1394] = b' ';
        write(&mut block);
        assert!(block.ends_with(&[0; 653]) && block[..1395].ends_with(TEXT));
    }
}
