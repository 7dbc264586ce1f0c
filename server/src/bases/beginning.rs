//! The first bytes of a file that arrives.

use imagelib::base::{Base, BaseError, Packed, Role};

use super::error::FetchError;

/// How many bytes show the format of a file.
const LENGTH: usize = 8;
/// How long the file is that dayone examines: such a beginning with zeros after it.
const EXAMINED: usize = 4096;

/// Collects the first bytes of a file. Refuses the file if they show that it is no file of a base.
#[derive(Debug)]
pub(super) struct Beginning(Option<Vec<u8>>);

impl Beginning {
    /// A file of which this many bytes are there already, and were examined when they arrived.
    pub(super) fn after(length: u64) -> Self {
        Self((length == 0).then(Vec::new))
    }

    /// Takes the next bytes of the file.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        let Some(first) = &mut self.0 else { return Ok(()) };
        let missing = LENGTH.saturating_sub(first.len());
        first.extend(bytes.iter().take(missing));
        if first.len() < LENGTH {
            return Ok(());
        }
        let format = disk_format(first);
        self.0 = None;
        format.map_or(Ok(()), |format| Err(FetchError::Packed(format)))
    }
}

/// The format of virtual machines of a file that begins with these bytes. Compressed files go on: initramfs images are compressed.
fn disk_format(first: &[u8]) -> Option<Packed> {
    let mut file = first.to_vec();
    file.resize(EXAMINED, 0);
    match Base::probe(&(Role::Iso, file)) {
        Err(BaseError::Packed(format @ Packed::Disk(_))) => Some(format),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_of_a_virtual_machine_is_known_by_its_first_bytes() {
        let refused = |pieces: &[&[u8]]| {
            let mut beginning = Beginning::after(0);
            pieces.iter().find_map(|piece| beginning.take(piece).err()).map(|error| error.to_string())
        };
        for (first, format) in
            [(&b"QFI\xfb\0\0\0\x03"[..], "qcow2"), (b"KDMV\x01\0\0\0", "VMDK"), (b"vhdxfile", "VHDX")]
        {
            let whole = [first, &[0; 100]].concat();
            for pieces in [&[&whole[..]][..], &[&whole[..3], &whole[3..]]] {
                let error = refused(pieces).unwrap_or_default();
                assert!(error.contains(&format!("format {format}: convert it with qemu-img")), "{first:?}: {error}");
            }
        }
        let disk = b"QFI\xfb\0\0\0\x03";
        for good in [&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], b"070701000000", b"MZ\0\0\0\0\0\0\0\0", &[0; 512]] {
            assert_eq!(refused(&[good, disk]), None, "{good:?}");
        }
        assert_eq!(refused(&[b"QFI\xfb"]), None, "a file that ends before that is no disk");
        assert!(Beginning::after(100).take(disk).is_ok(), "these are not the first bytes");
    }
}
