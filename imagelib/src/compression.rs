//! The compressions of initramfs members: recognised by their first bytes, written deterministically, read with limits.

mod gzip;
mod kernel;
mod lz4;

use std::io::{self, BufRead, Read, Write};

use liblzma::stream::{Check, LzmaOptions, Stream};

use crate::cpio::Skip;
pub use kernel::KernelLacks;
pub(crate) use kernel::SETTINGS_BYTES;

/// Why compressing or decompressing fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompressionError {
    /// The stream is damaged or incomplete.
    #[error("the {0} stream is damaged or incomplete: {1}")]
    Damaged(Compression, #[source] io::Error),
    /// The content is larger than the caller's limit, in bytes.
    #[error("the {0} stream unpacks to more than the {1} bytes allowed here")]
    TooLarge(Compression, u64),
    /// Bytes follow the end of the stream.
    #[error("bytes follow the end of the {0} stream")]
    Trailing(Compression),
    /// The encoder failed.
    #[error("compressing with {0} failed: {1}")]
    Encoder(Compression, #[source] io::Error),
}

/// The most memory that an xz or lzma stream may need, in bytes: a dictionary of 128 MiB, and less than 1 MiB for the decoder itself.
/// `xz -9` needs 65 MiB. zstd's own limit is also 128 MiB.
const DECODER_MEMORY: u64 = 129 << 20;

/// Whether a stream could not be read because it needs more than [`DECODER_MEMORY`].
pub(crate) fn needs_more_memory(error: &io::Error) -> bool {
    let Some(inner) = error.get_ref() else { return false };
    inner.downcast_ref::<liblzma::stream::Error>() == Some(&liblzma::stream::Error::MemLimit)
}

/// A compression that dayone reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// The .xz file format.
    Xz,
    /// RFC 8878.
    Zstd,
    /// The format before .xz (`lzma_alone`).
    Lzma,
    /// The legacy frame of LZ4.
    Lz4,
}

/// A compression that the kernel may support (`lib/decompress.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Magic {
    /// A compression that dayone reads.
    Known(Compression),
    /// A compression that dayone does not read, by name.
    Unknown(&'static str),
}

impl Magic {
    /// Recognises the compression by the first two bytes, as the kernel does.
    pub fn sniff(bytes: &[u8]) -> Option<Self> {
        Some(match bytes {
            [0x1f, 0x8b | 0x9e, ..] => Self::Known(Compression::Gzip),
            [0xfd, 0x37, ..] => Self::Known(Compression::Xz),
            [0x28, 0xb5, ..] => Self::Known(Compression::Zstd),
            [0x5d, 0x00, ..] => Self::Known(Compression::Lzma),
            [0x02, 0x21, ..] => Self::Known(Compression::Lz4),
            [0x42, 0x5a, ..] => Self::Unknown("bzip2"),
            [0x89, 0x4c, ..] => Self::Unknown("lzo"),
            _ => return None,
        })
    }
}

named_variants!(Compression {
    Gzip => "gzip",
    Xz => "xz",
    Zstd => "zstd",
    Lzma => "lzma",
    Lz4 => "lz4",
});

impl Compression {
    /// Compresses to one stream that the kernel reads. With the same version of the compressor, the same bytes give the same
    /// stream: gzip has no time and no name, and xz has CRC32, the only check that the kernel supports.
    pub fn compress(self, bytes: &[u8]) -> Result<Vec<u8>, CompressionError> {
        let compressed = match self {
            Self::Gzip => Ok(gzip::compress(bytes)),
            Self::Xz => with_liblzma(Stream::new_easy_encoder(6, Check::Crc32), bytes),
            Self::Zstd => zstd::bulk::compress(bytes, 19),
            Self::Lzma => {
                with_liblzma(LzmaOptions::new_preset(6).and_then(|options| Stream::new_lzma_encoder(&options)), bytes)
            }
            Self::Lz4 => lz4::compress(bytes),
        };
        compressed.map_err(|error| CompressionError::Encoder(self, error))
    }

    /// Decompresses exactly one stream of at most `limit` bytes.
    pub fn decompress(self, bytes: &[u8], limit: u64) -> Result<Vec<u8>, CompressionError> {
        let damaged = |error| CompressionError::Damaged(self, error);
        let mut decoder = Decoder::new(self, bytes).map_err(damaged)?;
        let mut content = Vec::new();
        decoder.by_ref().take(limit.saturating_add(1)).read_to_end(&mut content).map_err(damaged)?;
        if content.len() as u64 > limit {
            return Err(CompressionError::TooLarge(self, limit));
        }
        if decoder.into_inner().is_empty() { Ok(content) } else { Err(CompressionError::Trailing(self)) }
    }
}

fn with_liblzma(stream: Result<Stream, liblzma::stream::Error>, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream?);
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Reads one compressed stream. At its end, the inner reader is positioned exactly behind it.
pub struct Decoder<R: BufRead>(Inner<R>);

enum Inner<R: BufRead> {
    Gzip(flate2::bufread::GzDecoder<R>),
    Xz(liblzma::bufread::XzDecoder<R>),
    Zstd(zstd::Decoder<'static, R>),
    Lz4(lz4::Decoder<R>),
}

impl<R: BufRead> Decoder<R> {
    /// Decompresses from the position of `reader` on.
    pub fn new(compression: Compression, reader: R) -> io::Result<Self> {
        Ok(Self(match compression {
            Compression::Gzip => Inner::Gzip(flate2::bufread::GzDecoder::new(reader)),
            Compression::Xz => {
                let stream = Stream::new_stream_decoder(DECODER_MEMORY, 0)?;
                Inner::Xz(liblzma::bufread::XzDecoder::new_stream(reader, stream))
            }
            Compression::Lzma => {
                let stream = Stream::new_lzma_decoder(DECODER_MEMORY)?;
                Inner::Xz(liblzma::bufread::XzDecoder::new_stream(reader, stream))
            }
            Compression::Lz4 => Inner::Lz4(lz4::Decoder::new(reader)?),
            Compression::Zstd => Inner::Zstd(zstd::Decoder::with_buffer(reader)?.single_frame()),
        }))
    }

    /// Whether the stream, read to its end, has no end mark. The kernel then continues to read unless at least four zeros
    /// follow.
    pub fn is_open(&self) -> bool {
        matches!(&self.0, Inner::Lz4(decoder) if decoder.is_open())
    }

    /// Returns the inner reader.
    pub fn into_inner(self) -> R {
        match self.0 {
            Inner::Gzip(decoder) => decoder.into_inner(),
            Inner::Xz(decoder) => decoder.into_inner(),
            Inner::Zstd(decoder) => decoder.finish(),
            Inner::Lz4(decoder) => decoder.into_inner(),
        }
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Gzip(decoder) => decoder.read(buffer),
            Inner::Xz(decoder) => decoder.read(buffer),
            Inner::Zstd(decoder) => decoder.read(buffer),
            Inner::Lz4(decoder) => decoder.read(buffer),
        }
    }
}

impl<R: BufRead> Skip for Decoder<R> {}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Compression; 5] =
        [Compression::Gzip, Compression::Xz, Compression::Zstd, Compression::Lzma, Compression::Lz4];
    /// Those whose streams say where they end.
    const CLOSED: [Compression; 4] = [Compression::Gzip, Compression::Xz, Compression::Zstd, Compression::Lzma];

    #[test]
    fn what_is_compressed_is_told_and_comes_back() {
        for compression in ALL {
            for content in [Vec::new(), b"keyfile".to_vec(), b"0123456789".repeat(100_000)] {
                let packed = compression.compress(&content).unwrap();
                assert_eq!(Magic::sniff(&packed), Some(Magic::Known(compression)));
                assert_eq!(packed, compression.compress(&content).unwrap());
                assert_eq!(compression.decompress(&packed, content.len() as u64).unwrap(), content);
            }
        }
        assert_eq!(Magic::sniff(b"070701"), None);
        assert_eq!(Magic::sniff(b"BZh9"), Some(Magic::Unknown("bzip2")));
        assert_eq!(Magic::sniff(&[0x1f]), None);
    }

    #[test]
    fn headers_carry_no_time_and_xz_has_the_check_that_the_kernel_knows() {
        assert_eq!(Compression::Gzip.compress(b"x").unwrap()[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255]);
        // .xz file format 2.1.1.2: check 1 is CRC32.
        assert_eq!(Compression::Xz.compress(b"x").unwrap()[..8], *b"\xfd7zXZ\0\0\x01");
    }

    #[test]
    fn bounds_damage_and_trailing_bytes_are_told() {
        for compression in CLOSED {
            let packed = compression.compress(&b"0123456789".repeat(1000)).unwrap();
            let result = compression.decompress(&packed, 9999);
            assert!(matches!(result, Err(CompressionError::TooLarge(_, 9999))), "{compression}");
            for end in [0, 1, packed.len() / 2, packed.len() - 1] {
                let result = compression.decompress(&packed[..end], 1 << 20);
                assert!(matches!(result, Err(CompressionError::Damaged(..))), "{compression} {end}");
            }
            let longer = [packed, vec![0]].concat();
            let result = compression.decompress(&longer, 1 << 20);
            assert!(matches!(result, Err(CompressionError::Trailing(_))), "{compression}");
        }
    }

    #[test]
    fn lz4_ends_with_the_image_or_with_zeros() {
        let packed = Compression::Lz4.compress(&b"0123456789".repeat(900_000)).unwrap();
        let read = |bytes: &[u8]| -> io::Result<(usize, bool, usize)> {
            let mut decoder = Decoder::new(Compression::Lz4, bytes)?;
            let count = io::copy(&mut decoder, &mut io::sink())?;
            Ok((usize::try_from(count).unwrap(), decoder.is_open(), decoder.into_inner().len()))
        };
        for (behind, open, rest) in
            [(&b""[..], true, 0), (b"\0\0\0", true, 0), (b"\0\0\0\0", false, 0), (b"\0\0\0\x000707", false, 4)]
        {
            assert_eq!(read(&[&packed, behind].concat()).unwrap(), (9_000_000, open, rest));
        }
        assert_eq!(read(&[packed.clone(), packed.clone()].concat()).unwrap(), (18_000_000, true, 0));
        // The kernel, too, takes them for the length of a block.
        assert!(read(&[&packed, &b"070701"[..]].concat()).is_err());
        for end in [0, 3, 6, packed.len() / 2, packed.len() - 1] {
            assert!(read(&packed[..end]).is_err(), "{end}");
        }
        assert!(Compression::Lz4.decompress(&packed, 8_999_999).is_err());
    }

    #[test]
    fn the_reader_stands_behind_the_stream_when_it_has_ended() {
        for compression in CLOSED {
            let bytes = [compression.compress(b"one").unwrap(), b"rest".to_vec()].concat();
            let mut decoder = Decoder::new(compression, bytes.as_slice()).unwrap();
            let mut content = Vec::new();
            decoder.read_to_end(&mut content).unwrap();
            assert_eq!((content.as_slice(), decoder.into_inner()), (&b"one"[..], &b"rest"[..]), "{compression}");
        }
    }
}
