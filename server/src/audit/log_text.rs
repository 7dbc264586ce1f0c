//! The files of an audit log as they are read: line by line, also if whoever rotates the log has compressed them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use imagelib::compression::{Compression, Decoder, Magic};

/// The longest line that is read whole, in bytes. An entry has at most some tens of KiB, and a server finds at most 1 MiB of an unfinished
/// one.
const MAX_LINE_BYTES: usize = 2 << 20;

/// A file of the log.
#[derive(Debug, Clone)]
pub struct LogText {
    /// Where it was read from.
    pub path: PathBuf,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Bytes(Vec<u8>),
    /// It is read at its path, as often as that is necessary.
    File,
}

/// Why a file of the log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogTextError {
    /// The system cannot read it.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is compressed, and does not unpack.
    #[error("{} is compressed with {compression}, and the compressed file is damaged or incomplete", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Its compression.
        compression: Compression,
        /// What is wrong with it.
        source: io::Error,
    },
    /// It is compressed in a way that dayone does not read.
    #[error("{} is compressed with {compression}, which dayone does not read; decompress it first", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// Its compression.
        compression: &'static str,
    },
}

/// A line of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Its number, from 1.
    pub(super) number: usize,
    /// Its bytes without its end.
    pub(super) bytes: &'a [u8],
    pub(super) end: LineEnd,
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// As every line.
    Newline,
    /// With the file.
    File,
    /// It is longer than any that a server writes. The rest of it is left out.
    Cut,
}

impl LogText {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, LogTextError> {
        let failed = |source| LogTextError::Read { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        // A pipe can be read only once.
        if file.metadata().map_err(failed)?.is_file() {
            return Ok(Self { path: path.to_owned(), content: Content::File });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        Ok(Self::of_bytes(path, bytes))
    }

    /// A file that was read already.
    pub fn of_bytes(path: impl Into<PathBuf>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), content: Content::Bytes(bytes) }
    }

    /// Hands over every line, until `look` breaks.
    pub(super) fn each_line(&self, mut look: impl FnMut(Line<'_>) -> ControlFlow<()>) -> Result<(), LogTextError> {
        let (mut reader, compression) = self.reader()?;
        let failed = |source| match compression {
            Some(compression) => LogTextError::Damaged { path: self.path.clone(), compression, source },
            None => self.failed(source),
        };
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            (&mut reader).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line).map_err(failed)?;
            let (bytes, end) = match line.strip_suffix(b"\n") {
                Some(bytes) => (bytes, LineEnd::Newline),
                None if line.is_empty() => break,
                None if line.len() < MAX_LINE_BYTES => (line.as_slice(), LineEnd::File),
                None => {
                    reader.skip_until(b'\n').map_err(failed)?;
                    (line.as_slice(), LineEnd::Cut)
                }
            };
            if look(Line { number, bytes, end }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn failed(&self, source: io::Error) -> LogTextError {
        LogTextError::Read { path: self.path.clone(), source }
    }

    /// The text from its beginning, decompressed, and what it was compressed with. Needs little memory, whatever is in the file.
    fn reader(&self) -> Result<(Box<dyn BufRead + '_>, Option<Compression>), LogTextError> {
        let mut reader: Box<dyn BufRead> = match &self.content {
            Content::Bytes(bytes) => Box::new(bytes.as_slice()),
            Content::File => {
                let file = File::open(&self.path).map_err(|source| self.failed(source))?;
                Box::new(BufReader::new(file))
            }
        };
        match Magic::sniff(reader.fill_buf().map_err(|source| self.failed(source))?) {
            None => Ok((reader, None)),
            Some(Magic::Unknown(compression)) => Err(LogTextError::Compressed { path: self.path.clone(), compression }),
            Some(Magic::Known(compression)) => {
                let streams = Streams::new(compression, reader).map_err(|source| self.failed(source))?;
                Ok((Box::new(BufReader::new(streams)), Some(compression)))
            }
        }
    }
}

/// Decompresses streams one after another, as all programs that decompress files do.
struct Streams<R: BufRead> {
    compression: Compression,
    /// `None` after an error.
    decoder: Option<Decoder<R>>,
}

impl<R: BufRead> Streams<R> {
    fn new(compression: Compression, reader: R) -> io::Result<Self> {
        Ok(Self { compression, decoder: Some(Decoder::new(compression, reader)?) })
    }
}

impl<R: BufRead> Read for Streams<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let count = decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(mut rest) = self.decoder.take().map(Decoder::into_inner) else { return Ok(0) };
            if rest.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.decoder = Some(Decoder::new(self.compression, rest)?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines as text, each with its number and its end.
    fn lines(bytes: Vec<u8>) -> Result<Vec<(usize, String, LineEnd)>, LogTextError> {
        let mut lines = Vec::new();
        LogText::of_bytes("audit.jsonl", bytes).each_line(|line| {
            lines.push((line.number, String::from_utf8_lossy(line.bytes).into_owned(), line.end));
            ControlFlow::Continue(())
        })?;
        Ok(lines)
    }

    #[test]
    fn a_compressed_file_has_the_lines_of_the_plain_one() {
        let text = b"one\n\nthree\nfour".to_vec();
        let plain = lines(text.clone()).unwrap();
        assert_eq!(plain.len(), 4);
        assert_eq!(plain[3], (4, "four".to_owned(), LineEnd::File));
        for compression in [Compression::Gzip, Compression::Xz, Compression::Zstd] {
            let whole = compression.compress(&text).unwrap();
            assert_eq!(lines(whole.clone()).unwrap(), plain, "{compression}");
            let (one, two) = text.split_at(6);
            let two_streams = [compression.compress(one).unwrap(), compression.compress(two).unwrap()].concat();
            assert_eq!(lines(two_streams).unwrap(), plain, "{compression}");
            let error = lines(whole[..whole.len() - 3].to_vec()).unwrap_err();
            assert!(matches!(error, LogTextError::Damaged { .. }), "{error}");
        }
        let error = lines(b"BZh91AY&SY".to_vec()).unwrap_err().to_string();
        assert_eq!(error, "audit.jsonl is compressed with bzip2, which dayone does not read; decompress it first");
    }

    #[test]
    fn a_line_that_is_longer_than_any_entry_needs_no_memory() {
        let long = "x".repeat(MAX_LINE_BYTES);
        for compression in [None, Some(Compression::Gzip)] {
            let text = format!("one\n{long}xx\nthree\n{long}").into_bytes();
            let text = compression.map_or(text.clone(), |compression| compression.compress(&text).unwrap());
            let lines = lines(text).unwrap();
            let ends: Vec<_> = lines.iter().map(|(number, text, end)| (*number, text.len(), *end)).collect();
            let expected = [
                (1, 3, LineEnd::Newline),
                (2, MAX_LINE_BYTES, LineEnd::Cut),
                (3, 5, LineEnd::Newline),
                (4, MAX_LINE_BYTES, LineEnd::Cut),
            ];
            assert_eq!(ends, expected);
        }
    }
}
