//! Copies a file of the server into the data directory. On a file system with shared extents, the copy takes no time and no space.

use std::fs::File;
use std::io;
use std::path::Path;

use imagelib::source::Source as _;
use media::base_file::BaseFile;
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::error::FetchError;
use super::progress::FileProgress;
use super::space::{self, Readers};

/// How many bytes the kernel copies before dayone looks whether it should stop.
const PIECE: usize = 16 << 20;

/// How a file was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    /// Both files share their blocks until one of them changes.
    Shared,
    /// The bytes were copied.
    Bytes,
}

/// Copies `from` to the empty file `to`, which only its owner may read. Fails if `from` changes meanwhile.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    limit: u64,
    progress: &FileProgress,
    cancelled: &CancellationToken,
) -> Result<Copied, FetchError> {
    let source = BaseFile::open(from).map_err(|error| FetchError::Source(error.to_string()))?;
    let size = source.size();
    progress.set_total(Some(size));
    if size > limit {
        return Err(FetchError::TooLarge { limit });
    }
    let target = space::create(to, Readers::Owner).map_err(FetchError::storage)?;
    // It fails if the file system has no shared extents, and between two file systems.
    let how = if let Ok(()) = rustix::fs::ioctl_ficlone(&target, &source) {
        Copied::Shared
    } else {
        space::check(&target, size)?;
        copy_bytes(&source, &target, progress, cancelled)?;
        Copied::Bytes
    };
    progress.set_done(size);
    source.check().map_err(|error| FetchError::Source(error.to_string()))?;
    Ok(how)
}

fn copy_bytes(
    source: &BaseFile,
    target: &File,
    progress: &FileProgress,
    cancelled: &CancellationToken,
) -> Result<(), FetchError> {
    let mut offset = 0;
    let mut in_kernel = true;
    let mut buffer = vec![0; 1 << 20];
    while offset < source.size() {
        if cancelled.is_cancelled() {
            return Err(FetchError::Cancelled);
        }
        let (mut from, mut to) = (offset, offset);
        let copied = if in_kernel {
            match rustix::fs::copy_file_range(source, Some(&mut from), target, Some(&mut to), PIECE) {
                Ok(copied) => copied as u64,
                Err(Errno::XDEV | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM | Errno::BADF) => {
                    in_kernel = false;
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(FetchError::storage(errno.into())),
            }
        } else {
            let count = source.read_at(offset, &mut buffer).map_err(|error| FetchError::Source(error.to_string()))?;
            write_at(target, buffer.get(..count).unwrap_or_default(), offset).map_err(FetchError::storage)?;
            count as u64
        };
        if copied == 0 {
            return Err(FetchError::Source("the file is shorter than a moment ago".to_owned()));
        }
        offset += copied;
        progress.set_done(offset);
    }
    Ok(())
}

fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}
