//! Files that would be a base if they were unpacked first.

use std::io;

use crate::source::Source;

/// A form in which publishers offer images, and from which dayone cannot serve ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Packed {
    /// Compressed, with this program's format.
    #[error("it is compressed with {0}: give the uncompressed file, or decompress it yourself")]
    Compressed(&'static str),
    /// A disk in a format of virtual machines.
    #[error("it is the image of a disk in the format {0}: convert it with qemu-img convert -O raw")]
    Disk(&'static str),
}

/// How such files begin.
const SIGNATURES: [(&[u8], Packed); 7] = [
    (b"\xfd7zXZ\0", Packed::Compressed("xz")),
    (b"\x1f\x8b", Packed::Compressed("gzip")),
    (b"\x28\xb5\x2f\xfd", Packed::Compressed("zstd")),
    (b"BZh", Packed::Compressed("bzip2")),
    (b"QFI\xfb", Packed::Disk("qcow2")),
    (b"KDMV", Packed::Disk("VMDK")),
    (b"vhdxfile", Packed::Disk("VHDX")),
];

impl Packed {
    /// Recognises the form by the beginning of a file.
    pub(super) fn of(source: &dyn Source) -> io::Result<Option<Self>> {
        let start = source.read_vec(0, source.size().min(8))?;
        Ok(SIGNATURES.into_iter().find(|(signature, _)| start.starts_with(signature)).map(|(_, packed)| packed))
    }
}
