//! Settings of streams that the compressors' own programs read, and that the kernel's decoders lack.
//!
//! zstd, lzma and lz4 are not here. The library for zstd refuses windows of more than 128 MiB, as the kernel does, and dayone recognises only
//! those formats of the other two that the kernel reads.

use super::Compression;

/// How much of a stream shows its settings, in bytes: the header of an xz stream, and the longest header of a block.
pub(crate) const SETTINGS_BYTES: u64 = XZ_HEADER as u64 + 1024;

/// The length of the header of an xz stream, in bytes (.xz file format, section 2.1.1).
const XZ_HEADER: usize = 12;

/// A setting of a stream that the kernel's decoder lacks, on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelLacks {
    /// The check of an xz stream, by name (`lib/xz/xz_dec_stream.c`).
    #[error("the kernel cannot unpack its xz stream, which has the check {0}; compress it with `xz --check=crc32`")]
    XzCheck(&'static str),
    /// A filter of an xz stream that no kernel has, or more than two filters.
    #[error("the kernel cannot unpack its xz stream, which has {0}; compress it with `xz --check=crc32`")]
    XzFilters(&'static str),
    /// A part of a gzip header that the kernel takes for data (`lib/decompress_inflate.c`).
    #[error("the kernel cannot unpack its gzip stream, whose header has {0}; compress it with `gzip -n`")]
    GzipHeader(&'static str),
}

impl KernelLacks {
    /// What the kernel lacks for a stream, by the first bytes of the stream ([`SETTINGS_BYTES`]).
    pub(crate) fn for_stream(compression: Compression, start: &[u8]) -> Option<Self> {
        match compression {
            Compression::Gzip => gzip(start),
            Compression::Xz => xz(start),
            Compression::Zstd | Compression::Lzma | Compression::Lz4 => None,
        }
    }
}

/// RFC 1952 §2.3.1: the flags. The kernel knows a file's name, and ignores the flag for text.
fn gzip(start: &[u8]) -> Option<KernelLacks> {
    let flags = start.get(3)?;
    let parts = [(0x02, "a checksum"), (0x04, "an extra field"), (0x10, "a comment")];
    parts.into_iter().find(|(flag, _)| flags & flag != 0).map(|(_, part)| KernelLacks::GzipHeader(part))
}

/// .xz file format, section 2.1.1.2: the check.
fn xz(start: &[u8]) -> Option<KernelLacks> {
    match start.get(7)? & 0x0f {
        0x00 | 0x01 => xz_filters(start.get(XZ_HEADER..)?),
        0x04 => Some(KernelLacks::XzCheck("CRC64")),
        0x0a => Some(KernelLacks::XzCheck("SHA-256")),
        _ => Some(KernelLacks::XzCheck("of an unknown kind")),
    }
}

/// .xz file format, section 3.1: the header of the first block. Which of the filters for programs (BCJ) a kernel has depends on how it was
/// built, so they pass.
fn xz_filters(block: &[u8]) -> Option<KernelLacks> {
    let [size, flags, rest @ ..] = block else { return None };
    let (size, flags, mut rest) = (*size, *flags, rest);
    // An empty stream has an index here, in place of a block.
    if size == 0 {
        return None;
    }
    let more_filters = flags & 0x03;
    if more_filters > 1 {
        return Some(KernelLacks::XzFilters("more than two filters"));
    }
    for has_size in [0x40_u8, 0x80] {
        if flags & has_size != 0 {
            xz_number(&mut rest)?;
        }
    }
    for _ in 0..=more_filters {
        let (filter, properties) = (xz_number(&mut rest)?, xz_number(&mut rest)?);
        if filter == 0x03 {
            return Some(KernelLacks::XzFilters("the filter delta"));
        }
        rest = rest.get(usize::try_from(properties).ok()?..)?;
    }
    None
}

/// .xz file format, section 1.2: a number, with seven bits in each byte.
fn xz_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << (7 * place);
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
