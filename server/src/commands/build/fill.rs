//! Writes an image's bytes to a file. If the file system can share blocks, the file shares those of the base; otherwise the
//! kernel copies them if it can, or dayone copies them through memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use imagelib::overlay::{Content, Counter, Overlay, Segment};
use imagelib::source::{Role, Source as _};
use media::base_file::BaseFile;
use rustix::fs::{copy_file_range, ioctl_ficlone};
use rustix::io::Errno;

/// How many bytes to copy between two calls of `go_on`.
const STEP: u64 = 16 << 20;
/// How many bytes to read at once if the kernel does not copy.
const BUFFER: usize = 1 << 20;

/// Writes an image to `file`, which is empty. It calls `go_on` regularly with the number of written bytes, and stops if that
/// fails.
///
/// [`BaseFile`] does not see the bytes that the kernel copies, so the caller must check the base at the end, and should check it
/// in `go_on`, too.
pub(super) fn fill(
    file: &File,
    overlay: &Overlay,
    base: &BTreeMap<Role, BaseFile>,
    mut go_on: impl FnMut(u64) -> io::Result<()>,
) -> io::Result<()> {
    // Share all blocks of the file that the image begins with, if the file system supports that.
    let shared = match overlay.segments(0..1).next() {
        Some(Segment::Base { file: role, offset: 0, .. }) => {
            base.get(&role).is_some_and(|base| ioctl_ficlone(file, base).is_ok()).then_some(role)
        }
        _ => None,
    };
    file.set_len(overlay.size())?;
    let mut in_kernel = true;
    let mut position = 0;
    for segment in overlay.segments(0..overlay.size()) {
        let length = segment.length();
        match segment {
            Segment::Base { file, offset, .. } if shared == Some(file) && offset == position => {}
            Segment::Base { file: role, offset, length } => {
                let Some(base) = base.get(&role) else {
                    return Err(io::Error::new(io::ErrorKind::NotFound, format!("the base has no {role}")));
                };
                let mut copier = Copier { file, base, in_kernel };
                copier.copy(offset, position, length, &mut go_on)?;
                in_kernel = copier.in_kernel;
            }
            // The bytes that set_len has added are zero.
            Segment::Own(Content::Zeros(_)) if shared.is_none() => {}
            Segment::Own(Content::Zeros(length)) => write_zeros(file, position, length)?,
            Segment::Own(Content::Bytes(bytes)) => file.write_all_at(&bytes, position)?,
            Segment::Own(Content::Counter(counter)) => write_counter(file, position, counter)?,
        }
        position += length;
        go_on(position)?;
    }
    Ok(())
}

fn write_zeros(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let zeros = vec![0; BUFFER];
    let mut done = 0;
    while done < length {
        let count = usize::try_from(length - done).unwrap_or(BUFFER).min(BUFFER);
        file.write_all_at(zeros.get(..count).unwrap_or_default(), offset + done)?;
        done += count as u64;
    }
    Ok(())
}

fn write_counter(file: &File, offset: u64, counter: Counter) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut done = 0;
    while done < counter.len() {
        let count = counter.part(done, counter.len() - done).fill(&mut buffer);
        file.write_all_at(buffer.get(..count).unwrap_or_default(), offset + done)?;
        done += count as u64;
    }
    Ok(())
}

struct Copier<'a> {
    file: &'a File,
    base: &'a BaseFile,
    /// Whether the kernel can copy between these two files.
    in_kernel: bool,
}

impl Copier<'_> {
    fn copy(
        &mut self,
        from: u64,
        to: u64,
        length: u64,
        go_on: &mut impl FnMut(u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < length {
            let wanted = (length - done).min(STEP);
            done += self.step(from + done, to + done, wanted)?;
            go_on(to + done)?;
        }
        Ok(())
    }

    fn step(&mut self, from: u64, to: u64, length: u64) -> io::Result<u64> {
        if self.in_kernel {
            let (mut source, mut target) = (from, to);
            let wanted = usize::try_from(length).unwrap_or(BUFFER);
            match copy_file_range(self.base, Some(&mut source), self.file, Some(&mut target), wanted) {
                // If the base ends early, reading it gives a better error.
                Ok(0) | Err(Errno::XDEV | Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => self.in_kernel = false,
                Ok(count) => return Ok(count as u64),
                Err(Errno::INTR) => return Ok(0),
                Err(errno) => return Err(errno.into()),
            }
        }
        let mut buffer = vec![0; usize::try_from(length).unwrap_or(BUFFER).min(BUFFER)];
        self.base.read_exact_at(from, &mut buffer)?;
        self.file.write_all_at(&buffer, to)?;
        Ok(buffer.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use imagelib::overlay::{Patch, Sizes};

    use super::*;

    /// 3 MiB and a bit, none of it zero.
    fn base() -> (tempfile::NamedTempFile, BTreeMap<Role, BaseFile>, Vec<u8>) {
        let bytes: Vec<u8> = (0..(3 << 20) + 77_u32).map(|n| u8::try_from(n % 251).unwrap() + 1).collect();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        let base = BTreeMap::from([(Role::Iso, BaseFile::open(file.path()).unwrap())]);
        (file, base, bytes)
    }

    fn overlays(size: u64) -> Vec<Overlay> {
        let own = |bytes: &'static [u8]| Segment::Own(Content::Bytes(bytes.into()));
        let sizes = Sizes::from([(Role::Iso, size)]);
        let range = |offset, length| Segment::Base { file: Role::Iso, offset, length };
        vec![
            Overlay::patched(Role::Iso, size, vec![]).unwrap(),
            Overlay::patched(Role::Iso, size, vec![Patch::bytes(5000, &b"own"[..]), Patch::zeros(5003, 2 << 20)])
                .unwrap(),
            Overlay::patched(Role::Iso, size, vec![Patch::bytes(0, &b"own"[..]), Patch::zeros(size - 9, 9)]).unwrap(),
            Overlay::concatenated(&sizes, vec![range(0, size), own(b"behind")]).unwrap(),
            Overlay::concatenated(&sizes, vec![range(4097, 70_001), own(b"x"), range(3, 2_000_000)]).unwrap(),
            Overlay::concatenated(
                &sizes,
                vec![range(0, 5), Segment::Own(Content::Counter(Counter::new(7, 600_000))), range(5, 5)],
            )
            .unwrap(),
            Overlay::concatenated(&sizes, vec![]).unwrap(),
        ]
    }

    fn read_through(overlay: &Overlay, base: &BTreeMap<Role, BaseFile>) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(overlay.size()).unwrap()];
        assert_eq!(overlay.read_at(base, 0, &mut bytes).unwrap(), bytes.len());
        bytes
    }

    #[test]
    fn a_file_gets_the_bytes_that_reading_the_overlay_gives() {
        let (_file, base, bytes) = base();
        for overlay in overlays(bytes.len() as u64) {
            let target = tempfile::NamedTempFile::new().unwrap();
            let mut reported = Vec::new();
            fill(target.as_file(), &overlay, &base, |position| {
                reported.push(position);
                Ok(())
            })
            .unwrap();
            assert!(std::fs::read(target.path()).unwrap() == read_through(&overlay, &base));
            assert!(reported.is_sorted() && reported.last().copied().unwrap_or_default() == overlay.size());
        }
    }

    #[test]
    fn copying_through_memory_gives_the_same() {
        let (_file, base, bytes) = base();
        let target = tempfile::NamedTempFile::new().unwrap();
        let mut copier = Copier { file: target.as_file(), base: &base[&Role::Iso], in_kernel: false };
        copier.copy(11, 0, bytes.len() as u64 - 11, &mut |_| Ok(())).unwrap();
        assert!(std::fs::read(target.path()).unwrap() == bytes[11..]);
        let error = copier.copy(11, 0, bytes.len() as u64, &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let (_file, base, bytes) = base();
        let target = tempfile::NamedTempFile::new().unwrap();
        let overlay = Overlay::patched(Role::Iso, bytes.len() as u64, vec![]).unwrap();
        let error = fill(target.as_file(), &overlay, &base, |_| Err(io::ErrorKind::Interrupted.into())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
