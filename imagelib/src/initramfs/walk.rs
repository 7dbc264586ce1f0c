//! From the first member to the last, in the order in which the kernel unpacks them.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use super::InitramfsError;
use super::cursor::Cursor;
use crate::compression::{self, Compression, Decoder, KernelLacks, Magic};
use crate::cpio::{CpioError, Entry, FileKind, Reader, Skip};
use crate::source::Source;

/// Limits on the memory and the time that a foreign image can take. Real images have up to five members and some hundred
/// thousand entries.
const MEMBERS: usize = 1000;
const ENTRIES: u64 = 1_000_000;
const NAME_BYTES: u64 = 128 << 20;
const UNPACKED: u64 = 16 << 30;

/// One archive of an initramfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its offset in the image, in bytes.
    pub offset: u64,
    /// Its compression; `None` if it is raw.
    pub compression: Option<Compression>,
    /// How many entries it has.
    pub entries: u64,
}

/// The result of [`walk`].
#[derive(Debug)]
pub struct Walk {
    /// The archives, up to the first that cannot be read.
    pub members: Vec<Member>,
    /// Whether all of the image could be read.
    pub outcome: ReadOutcome,
    /// Whether the image ends in a compressed stream without an end mark ([`Decoder::is_open`]).
    pub open: bool,
}

/// How reading an initramfs ended.
#[derive(Debug)]
pub enum ReadOutcome {
    /// All of the image could be read.
    Complete,
    /// A member could not be read to its end. What follows it is not known.
    Stopped {
        /// The offset of that member in the image, in bytes.
        offset: u64,
        /// Why not.
        reason: StopReason,
    },
}

impl ReadOutcome {
    /// An error unless every byte could be read.
    pub fn complete(self) -> Result<(), InitramfsError> {
        match self {
            Self::Complete => Ok(()),
            Self::Stopped { offset, reason } => Err(InitramfsError::Unreadable { offset, reason }),
        }
    }

    /// Whether the kernel stops at the same place, and so does not unpack anything appended.
    pub fn stops_the_kernel(&self) -> bool {
        match self {
            Self::Complete => false,
            Self::Stopped { reason, .. } => {
                !matches!(reason, StopReason::Unsupported(_) | StopReason::Dictionary | StopReason::TooLarge)
            }
        }
    }
}

/// Why reading an initramfs stopped.
#[derive(Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// dayone does not read a compression of this name. The kernel may.
    Unsupported(&'static str),
    /// The xz or lzma stream has a larger dictionary than dayone reads. The kernel unpacks it.
    Dictionary,
    /// A raw archive, or what follows one, does not begin at a multiple of 4.
    Misaligned,
    /// The member is good, but the kernel cannot unpack it.
    KernelLacks(KernelLacks),
    /// The bytes are neither an archive nor a known compression, perhaps a signature or a checksum.
    UnknownMagic,
    /// An archive or its compressed stream is damaged.
    Damaged(CpioError),
    /// The image has more members, entries or bytes than dayone reads.
    TooLarge,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(name) => write!(f, "it is compressed with {name}, which dayone does not read"),
            Self::Dictionary => f.write_str(
                "its xz or lzma stream has a dictionary of more than 128 MiB, which dayone does not read; compress it again, \
                 for example with xz -9 --check=crc32",
            ),
            Self::Misaligned => f.write_str("it does not begin at a multiple of 4, where the kernel would look for it"),
            Self::KernelLacks(setting) => setting.fmt(f),
            Self::UnknownMagic => f.write_str("it is neither a cpio archive nor compressed in a known way"),
            Self::Damaged(error) => error.fmt(f),
            Self::TooLarge => f.write_str("there are more members, entries or bytes than an initramfs has"),
        }
    }
}

/// What [`walk`] shows of an entry.
#[derive(Debug)]
pub struct Visit<'e> {
    /// The number of its member, counted from 0.
    pub member: usize,
    /// The entry.
    pub entry: &'e Entry,
    /// How many trailers came before it. The kernel forgets there which inode numbers it has seen, so hard links are only between
    /// entries with the same number of trailers before them.
    pub trailers: u64,
}

/// Visits every entry in the order in which the kernel unpacks them. If two entries have the same path, the later one stays.
/// `visit` may read the entry's content from the given reader. An error from `visit` ends the walk.
///
/// The walk holds only a buffer of the image in memory. [`Walk::outcome`] tells whether a part cannot be read. An error
/// means that the image is not an initramfs, or that the source failed.
pub fn walk<S, V>(source: &S, mut visit: V) -> Result<Walk, InitramfsError>
where
    S: Source + ?Sized,
    V: FnMut(&Visit<'_>, &mut Reader<&mut dyn Skip>) -> Result<(), CpioError>,
{
    let mut walker = Walker {
        visit: &mut visit,
        members: Vec::new(),
        entries: 0,
        trailers: 0,
        name_bytes: 0,
        unpacked: UNPACKED,
        open: false,
    };
    let mut cursor = Cursor::new(source);
    let stop = walker.run(&mut cursor);
    if let Some(error) = cursor.take_failure() {
        return Err(error.into());
    }
    let outcome = match stop? {
        None => ReadOutcome::Complete,
        Some((offset, StopReason::UnknownMagic | StopReason::Misaligned)) if walker.members.is_empty() => {
            return Err(InitramfsError::NotAnInitramfs(offset));
        }
        Some((offset, reason)) => match (&reason, walker.only_compression()) {
            (StopReason::Damaged(CpioError::Magic(_)), Some(compression)) => {
                return Err(InitramfsError::OtherContent(compression));
            }
            _ => ReadOutcome::Stopped { offset, reason },
        },
    };
    Ok(Walk { members: walker.members, outcome, open: walker.open })
}

struct Walker<'v, V> {
    visit: &'v mut V,
    members: Vec<Member>,
    entries: u64,
    trailers: u64,
    name_bytes: u64,
    /// How many more bytes the decoders may produce.
    unpacked: u64,
    /// Whether the last member is a stream without an end mark.
    open: bool,
}

impl<V> Walker<'_, V>
where
    V: FnMut(&Visit<'_>, &mut Reader<&mut dyn Skip>) -> Result<(), CpioError>,
{
    fn run<S: Source + ?Sized>(&mut self, cursor: &mut Cursor<'_, S>) -> io::Result<Option<(u64, StopReason)>> {
        loop {
            skip_zeros(cursor)?;
            let offset = cursor.position();
            let magic = cursor.peek(2)?;
            let aligned = offset.is_multiple_of(4);
            let behind_raw = self.members.last().is_some_and(|member| member.compression.is_none());
            let compression = match (magic.first(), Magic::sniff(&magic)) {
                (None, _) => return Ok(None),
                (Some(b'0'), _) if aligned => None,
                (Some(b'0'), _) => return Ok(Some((offset, StopReason::Misaligned))),
                (_, Some(_)) if behind_raw && !aligned => return Ok(Some((offset, StopReason::Misaligned))),
                (_, Some(Magic::Known(compression))) => Some(compression),
                (_, Some(Magic::Unknown(name))) => return Ok(Some((offset, StopReason::Unsupported(name)))),
                (_, None) => return Ok(Some((offset, StopReason::UnknownMagic))),
            };
            if self.members.len() == MEMBERS {
                return Ok(Some((offset, StopReason::TooLarge)));
            }
            self.members.push(Member { offset, compression, entries: 0 });
            self.open = false;
            let result = match compression {
                None => self.archive(cursor).map(drop),
                Some(compression) => {
                    let start = cursor.peek(compression::SETTINGS_BYTES)?;
                    // What is not an initramfs, or is damaged, needs other advice.
                    self.compressed(compression, &mut *cursor).and_then(|()| {
                        let lacks = KernelLacks::for_stream(compression, &start);
                        lacks.map_or(Ok(()), |setting| Err(StopReason::KernelLacks(setting)))
                    })
                }
            };
            if let Err(reason) = result {
                return Ok(Some((offset, reason)));
            }
        }
    }

    /// A compressed member may itself hold several archives, with zeros between them.
    fn compressed<R: BufRead>(&mut self, compression: Compression, reader: R) -> Result<(), StopReason> {
        let damaged = |error| StopReason::Damaged(CpioError::Io(error));
        let decoder = Decoder::new(compression, reader).map_err(damaged)?;
        let mut reader = BufReader::new(Bounded { inner: decoder, left: self.unpacked });
        let mut position = 0_u64;
        loop {
            position = position.wrapping_add(skip_zeros(&mut reader).map_err(stop_of_stream)?);
            match reader.fill_buf().map_err(stop_of_stream)?.first() {
                None => break,
                Some(b'0') if position.is_multiple_of(4) => {}
                Some(_) => return Err(StopReason::Damaged(CpioError::Magic(position))),
            }
            position = position.wrapping_add(self.archive(&mut reader)?);
        }
        self.unpacked = reader.get_ref().left;
        self.open = reader.get_ref().inner.is_open();
        Ok(())
    }

    /// Reads one archive and returns its length in bytes.
    fn archive(&mut self, reader: &mut dyn Skip) -> Result<u64, StopReason> {
        let mut reader = Reader::new(reader);
        while let Some(entry) = reader.next_entry().map_err(stop_of_archive)? {
            let target = if entry.kind() == FileKind::Symlink { entry.size } else { 0 };
            self.entries += 1;
            self.name_bytes = self.name_bytes.saturating_add(entry.name.len() as u64).saturating_add(target);
            if self.entries > ENTRIES || self.name_bytes > NAME_BYTES {
                return Err(StopReason::TooLarge);
            }
            let member = self.members.len().saturating_sub(1);
            let visit = Visit { member, entry: &entry, trailers: self.trailers };
            (self.visit)(&visit, &mut reader).map_err(stop_of_archive)?;
            if let Some(member) = self.members.last_mut() {
                member.entries += 1;
            }
        }
        self.trailers += u64::from(reader.has_trailer());
        Ok(reader.position())
    }

    /// The compression if the image is a compressed stream of something else than archives.
    fn only_compression(&self) -> Option<Compression> {
        match self.members.as_slice() {
            [Member { compression, entries: 0, .. }] => *compression,
            _ => None,
        }
    }
}

fn stop_of_archive(error: CpioError) -> StopReason {
    match error {
        CpioError::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => StopReason::TooLarge,
        CpioError::Io(error) if compression::needs_more_memory(&error) => StopReason::Dictionary,
        error => StopReason::Damaged(error),
    }
}

fn stop_of_stream(error: io::Error) -> StopReason {
    stop_of_archive(CpioError::Io(error))
}

/// Skips zero bytes and returns their number.
fn skip_zeros<R: BufRead + ?Sized>(reader: &mut R) -> io::Result<u64> {
    let mut skipped = 0_u64;
    loop {
        let buffer = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        let zeros = buffer.iter().position(|byte| *byte != 0).unwrap_or(buffer.len());
        if zeros == 0 {
            return Ok(skipped);
        }
        reader.consume(zeros);
        skipped += zeros as u64;
    }
}

/// A decoder with a limit on its output: a few KiB can unpack to terabytes.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return Err(io::ErrorKind::FileTooLarge.into()),
        }
        Ok(count)
    }
}
