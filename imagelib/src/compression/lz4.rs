//! The legacy frame of LZ4 (`lz4 -l`; "Legacy frame" in `lz4_Frame_format.md`): the only one that the kernel reads
//! (`lib/decompress_unlz4.c`).
//!
//! The frame has no end. Where the image goes on, the kernel takes the next four bytes for the length of another block,
//! unless they are zero.

use std::io::{self, BufRead, Read, Write};

/// What a frame begins with, little endian; a frame may follow another at once.
const MAGIC: u32 = 0x184C_2102;
/// What a block unpacks to: this, and less in the last one.
const BLOCK: usize = 8 << 20;
/// The longest that a block can be (`LZ4_COMPRESSBOUND`).
const MAX_COMPRESSED_BLOCK: usize = BLOCK + BLOCK / 255 + 16;

pub(super) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut frame = MAGIC.to_le_bytes().to_vec();
    for block in bytes.chunks(BLOCK) {
        let packed = lz4_flex::block::compress(block);
        frame.write_all(&u32::try_from(packed.len()).map_err(io::Error::other)?.to_le_bytes())?;
        frame.write_all(&packed)?;
    }
    Ok(frame)
}

pub(super) struct Decoder<R> {
    reader: R,
    block: Vec<u8>,
    used: usize,
    end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The image ends here, or with less than four zeros.
    Image,
    /// Four zeros stood in place of a length.
    Zeros,
}

impl<R: BufRead> Decoder<R> {
    pub(super) fn new(mut reader: R) -> io::Result<Self> {
        match number(&mut reader)? {
            Some(MAGIC) => Ok(Self { reader, block: Vec::new(), used: 0, end: None }),
            _ => Err(invalid("not a legacy frame of LZ4")),
        }
    }

    /// Whether the frame, read to its end, had nothing that tells the kernel where it ends.
    pub(super) fn is_open(&self) -> bool {
        self.end == Some(End::Image)
    }

    pub(super) fn into_inner(self) -> R {
        self.reader
    }

    fn next_block(&mut self) -> io::Result<()> {
        let length = match number(&mut self.reader)? {
            None => {
                self.end = Some(End::Image);
                return Ok(());
            }
            Some(0) => {
                self.end = Some(End::Zeros);
                return Ok(());
            }
            Some(MAGIC) => return Ok(()),
            Some(length) => length as usize,
        };
        if length > MAX_COMPRESSED_BLOCK {
            return Err(invalid("a block of LZ4 is longer than the format allows"));
        }
        let mut packed = Vec::new();
        self.reader.by_ref().take(length as u64).read_to_end(&mut packed)?;
        if packed.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.block.resize(BLOCK, 0);
        self.used = 0;
        let count = lz4_flex::block::decompress_into(&packed, &mut self.block);
        self.block.truncate(*count.as_ref().unwrap_or(&0));
        count.map(drop).map_err(io::Error::other)
    }
}

/// Four bytes as a number; none at the end, and none where only zeros, less than four, stand before it.
fn number<R: BufRead>(reader: &mut R) -> io::Result<Option<u32>> {
    let mut bytes = Vec::new();
    reader.by_ref().take(4).read_to_end(&mut bytes)?;
    match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ok(Some(u32::from_le_bytes(bytes))),
        Err(_) if bytes.iter().all(|byte| *byte == 0) => Ok(None),
        Err(_) => Err(invalid("a frame of LZ4 ends in the middle of a block's length")),
    }
}

fn invalid(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.end.is_none() && self.used == self.block.len() {
            self.next_block()?;
        }
        let count = self.block.get(self.used..).unwrap_or_default().read(buffer)?;
        self.used += count;
        Ok(count)
    }
}
