//! Foreign archives, read as the kernel unpacks them (Linux `init/initramfs.c`) and as coreos-installer does.

use std::io::{self, BufReader, Read};

use super::{HEADER_LENGTH, PATH_MAX, S_IFDIR, S_IFLNK, S_IFMT, S_IFREG, TRAILER, padding};

/// Why reading an archive fails. Offsets are in bytes from the beginning of the decompressed archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CpioError {
    /// Reading or decompressing failed.
    #[error("the archive cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is no header at this offset.
    #[error("no cpio member (magic 070701 or 070702) at offset {0} of the archive")]
    Magic(u64),
    /// The header at this offset has an invalid number.
    #[error("the cpio header at offset {0} of the archive holds something other than hexadecimal numbers")]
    Number(u64),
    /// The name of the member at this offset has no end.
    #[error("the cpio member at offset {0} of the archive has a name that does not end")]
    Name(u64),
    /// The archive ends in the member at this offset.
    #[error("the archive ends in the middle of the member at offset {0}; it is incomplete")]
    Truncated(u64),
    /// The file at this offset has another checksum than its header says.
    #[error(
        "the cpio member at offset {0} of the archive has another checksum than its header says; the kernel stops there \
         (bad data checksum) and unpacks nothing that follows"
    )]
    Checksum(u64),
    /// The content is larger than the caller's limit.
    #[error("a file of {size} bytes is larger than the {limit} bytes allowed here")]
    TooLarge {
        /// The size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

/// A reader that can skip bytes, if possible without reading them.
pub trait Skip: Read {
    /// Skips `count` bytes. Returns how many it skipped, which is fewer only at the end.
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        io::copy(&mut <&mut Self as Read>::take(self, count), &mut io::sink())
    }
}

impl Skip for &[u8] {}
impl<R: Read> Skip for BufReader<R> {}
impl<S: Skip + ?Sized> Skip for &mut S {
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        (**self).skip(count)
    }
}

/// The kind of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; its target is the content.
    Symlink,
    /// A device, a pipe or a socket.
    Special,
}

/// The header of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name in the archive, which need not be UTF-8.
    pub name: Vec<u8>,
    /// Kind and permission bits (`st_mode`).
    pub mode: u32,
    /// The size of the content in bytes.
    pub size: u64,
    /// The number of members of this archive that are the same file. Usually only the last one has the content.
    pub links: u32,
    /// Inode number and device (major, minor): equal for the members that are the same file.
    pub inode: (u32, u32, u32),
}

impl Entry {
    /// Its kind.
    pub fn kind(&self) -> FileKind {
        match self.mode & S_IFMT {
            S_IFREG => FileKind::File,
            S_IFDIR => FileKind::Directory,
            S_IFLNK => FileKind::Symlink,
            _ => FileKind::Special,
        }
    }

    /// The path in the root file system in the form of a [`super::MemberPath`]: `./a//b`, `/a/b` and `x/../a/b` all become
    /// `a/b`. Empty for the root. Does not follow symbolic links.
    pub fn path(&self) -> Vec<u8> {
        let mut components: Vec<&[u8]> = Vec::new();
        for component in self.name.split(|byte| *byte == b'/') {
            match component {
                b"" | b"." => {}
                b".." => drop(components.pop()),
                name => components.push(name),
            }
        }
        components.join(&b'/')
    }
}

/// Reads one archive member by member, with at most one name in memory.
///
/// Like the kernel, it skips members whose name or link target is longer than `PATH_MAX`, and directories and special files with
/// content. It ends a name at its first NUL (dracut-cpio pads names), and accepts an archive without a trailer. It verifies the checksums
/// of regular files (070702) when it goes on to the next member, also of those that the kernel would not write for want of a directory.
pub struct Reader<R> {
    inner: R,
    position: u64,
    content_left: u64,
    checksum: Option<Checksum>,
    ended: bool,
    trailer: bool,
}

/// The checksum of the current member.
#[derive(Clone, Copy)]
struct Checksum {
    /// The offset of the member.
    offset: u64,
    /// What the bytes still to be read must add up to.
    left: u32,
}

impl<R: Skip> Reader<R> {
    /// Reads the archive that begins at the position of `inner`.
    pub fn new(inner: R) -> Self {
        Self { inner, position: 0, content_left: 0, checksum: None, ended: false, trailer: false }
    }

    /// Returns the inner reader. Once [`Reader::next_entry`] has returned `None`, its position is behind the archive.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// Whether the archive ended with a trailer, and not with the end of the bytes.
    pub fn has_trailer(&self) -> bool {
        self.trailer
    }

    /// The number of bytes of the archive that were read or skipped.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next member, whose content can then be read from this reader. `None` at the end of the archive and after an error.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, CpioError> {
        if self.ended {
            return Ok(None);
        }
        let result = self.find_entry();
        self.ended = !matches!(result, Ok(Some(_)));
        result
    }

    fn find_entry(&mut self) -> Result<Option<Entry>, CpioError> {
        loop {
            self.finish_content()?;
            let offset = self.position;
            let mut header = [0; HEADER_LENGTH];
            match self.fill(&mut header)? {
                0 => return Ok(None),
                HEADER_LENGTH => {}
                _ => return Err(CpioError::Truncated(offset)),
            }
            let header = Header::parse(&header, offset)?;
            if !header.is_unpacked() {
                self.skip_exact(u64::from(header.name_size), offset)?;
                self.skip_padding()?;
                self.content_left = header.entry.size;
                continue;
            }
            let mut name = vec![0; header.name_size as usize];
            if self.fill(&mut name)? != name.len() {
                return Err(CpioError::Truncated(offset));
            }
            let end = name.iter().position(|byte| *byte == 0).ok_or(CpioError::Name(offset))?;
            name.truncate(end);
            self.skip_padding()?;
            self.content_left = header.entry.size;
            let entry = Entry { name, ..header.entry };
            // The kernel makes a symbolic link of this name.
            if entry.name == TRAILER.as_bytes() && entry.kind() != FileKind::Symlink {
                self.finish_content()?;
                self.trailer = true;
                return Ok(None);
            }
            let checksum = header.checksum.filter(|_| entry.kind() == FileKind::File);
            self.checksum = checksum.map(|left| Checksum { offset, left });
            return Ok(Some(entry));
        }
    }

    /// Reads the rest of the current member's content. An error if it has more than `limit` bytes.
    pub fn content(&mut self, limit: u64) -> Result<Vec<u8>, CpioError> {
        let (size, offset) = (self.content_left, self.position);
        if size > limit {
            return Err(CpioError::TooLarge { size, limit });
        }
        let mut content = Vec::new();
        self.read_to_end(&mut content)?;
        if content.len() as u64 == size { Ok(content) } else { Err(CpioError::Truncated(offset)) }
    }

    fn finish_content(&mut self) -> Result<(), CpioError> {
        let offset = self.position;
        if self.checksum.is_some() {
            io::copy(self, &mut io::sink())?;
        }
        let left = std::mem::take(&mut self.content_left);
        self.skip_exact(left, offset)?;
        match self.checksum.take() {
            Some(checksum) if checksum.left != 0 => Err(CpioError::Checksum(checksum.offset)),
            _ => self.skip_padding(),
        }
    }

    fn skip_exact(&mut self, count: u64, offset: u64) -> Result<(), CpioError> {
        let skipped = if count == 0 { 0 } else { self.inner.skip(count)? };
        self.position += skipped;
        if skipped == count { Ok(()) } else { Err(CpioError::Truncated(offset)) }
    }

    /// Missing padding at the end of the archive is no error.
    fn skip_padding(&mut self) -> Result<(), CpioError> {
        match padding(self.position) {
            0 => {}
            count => self.position += self.inner.skip(count)?,
        }
        Ok(())
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, CpioError> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.inner.read(rest) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.position += done as u64;
        Ok(done)
    }
}

impl<R: Read> Read for Reader<R> {
    /// Reads from the content of the current member.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.content_left).unwrap_or(usize::MAX).min(buffer.len());
        let count = match buffer.get_mut(..wanted) {
            Some(part) if !part.is_empty() => self.inner.read(part)?,
            _ => 0,
        };
        self.content_left -= count as u64;
        self.position += count as u64;
        if let Some(checksum) = &mut self.checksum {
            let read = buffer.get(..count).unwrap_or_default();
            checksum.left = read.iter().fold(checksum.left, |left, byte| left.wrapping_sub(u32::from(*byte)));
        }
        Ok(count)
    }
}

struct Header {
    name_size: u32,
    /// The sum of the content's bytes, modulo 2^32, in archives of the kind 070702.
    checksum: Option<u32>,
    entry: Entry,
}

impl Header {
    fn parse(bytes: &[u8; HEADER_LENGTH], offset: u64) -> Result<Self, CpioError> {
        let (magic, fields) = bytes.split_at(6);
        if magic != b"070701" && magic != b"070702" {
            return Err(CpioError::Magic(offset));
        }
        let mut numbers = [0_u32; 13];
        for (number, digits) in numbers.iter_mut().zip(fields.chunks(8)) {
            *number = hexadecimal(digits).ok_or(CpioError::Number(offset))?;
        }
        let [inode, mode, _, _, links, _, size, major, minor, _, _, name_size, sum] = numbers;
        let entry = Entry { name: Vec::new(), mode, size: u64::from(size), links, inode: (inode, major, minor) };
        Ok(Self { name_size, checksum: (magic == b"070702").then_some(sum), entry })
    }
}

impl Header {
    /// Whether the kernel unpacks the member (`do_header` in `init/initramfs.c`).
    fn is_unpacked(&self) -> bool {
        let has_name = (1..=PATH_MAX).contains(&self.name_size);
        let has_fitting_content = match self.entry.kind() {
            FileKind::File => true,
            FileKind::Symlink => self.entry.size <= u64::from(PATH_MAX),
            FileKind::Directory | FileKind::Special => self.entry.size == 0,
        };
        has_name && has_fitting_content
    }
}

/// Eight digits are at most 32 bits, so nothing is lost. There are a hundred digits in each header of an archive with a million of them.
fn hexadecimal(digits: &[u8]) -> Option<u32> {
    let mut number = 0;
    for digit in digits {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        number = number << 4 | u32::from(value);
    }
    Some(number)
}
