//! Ranges of files that go from the page cache to a socket without a copy (`sendfile(2)`).
//!
//! hyper sends only bytes in memory. A body therefore gives it a placeholder: a slice of a reserved piece of
//! memory. The connection's stream recognises the slice by its address, and sends the next range of this queue in its place. TLS
//! would encrypt the placeholder itself, so connections with TLS have no queue.
//!
//! The kernel sends from the page cache after the call has returned. If a process writes to the file in that time, the client
//! receives the new bytes. The queue is therefore only for private copies ([`BaseFile::is_private`]).

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use parking_lot::Mutex;
use rustix::fs::sendfile;
use rustix::io::Errno;
use tokio::net::TcpStream;

use crate::LogLimit;
use crate::base_file::BaseFile;

/// The longest range. Short ones make small packets: `sendfile(2)` sends what it has at the end of each call.
pub(crate) const MAX_RANGE_BYTES: usize = 1 << 20;

/// The memory of placeholders. Its pages are never touched, so they take no memory.
static PLACEHOLDER: LazyLock<&[u8]> = LazyLock::new(|| vec![0; MAX_RANGE_BYTES].leak());

/// Limits the log lines about bases that cannot be read: each transfer would cause one.
static ABORTED: LogLimit = LogLimit::new();

/// The ranges that the placeholders on one connection stand for. Clones are the same queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileRanges(Arc<Mutex<VecDeque<FileRange>>>);

#[derive(Debug)]
struct FileRange {
    file: Arc<BaseFile>,
    offset: u64,
    length: usize,
}

impl FileRange {
    /// Logs why the transfer ends. The body cannot, because it has counted these bytes as sent.
    fn unreadable(&self, error: io::Error) -> io::Error {
        if let Some(suppressed) = ABORTED.admit() {
            let (path, offset) = (self.file.path().display(), self.offset);
            tracing::error!(%error, %path, offset, suppressed, "transfer aborted: cannot read the image");
        }
        error
    }
}

/// Whether `sendfile(2)` could not read the file. All other errors are those of the socket.
fn is_of_file(errno: Errno) -> bool {
    // Besides EIO, file systems return these for wrong checksums and damaged structures. NFS returns the last one for a file that is
    // gone.
    [Errno::IO, Errno::NODATA, Errno::BADMSG, Errno::UCLEAN, Errno::STALE].contains(&errno)
}

impl FileRanges {
    /// Adds a range of at most [`MAX_RANGE_BYTES`] bytes, and returns its placeholder, which must be sent on this queue's connection.
    pub(crate) fn placeholder(&self, file: &Arc<BaseFile>, offset: u64, length: usize) -> Bytes {
        let bytes = PLACEHOLDER.get(..length).unwrap_or(*PLACEHOLDER);
        self.0.lock().push_back(FileRange { file: Arc::clone(file), offset, length: bytes.len() });
        Bytes::from_static(bytes)
    }

    /// Whether these bytes are a placeholder, or the rest of one.
    pub(super) fn is_placeholder(bytes: &[u8]) -> bool {
        !bytes.is_empty() && PLACEHOLDER.as_ptr_range().contains(&bytes.as_ptr())
    }

    /// Sends a part of the next range, in place of the rest of its placeholder.
    pub(super) fn send(&self, stream: &TcpStream, rest: usize) -> io::Result<usize> {
        let mut ranges = self.0.lock();
        let range = ranges.front_mut().filter(|range| range.length == rest).ok_or(io::ErrorKind::InvalidData)?;
        range.file.verify().map_err(|error| range.unreadable(error.into()))?;
        let mut offset = range.offset;
        let sent = rustix::io::retry_on_intr(|| sendfile(stream, &*range.file, Some(&mut offset), range.length));
        let sent =
            sent.map_err(|errno| if is_of_file(errno) { range.unreadable(errno.into()) } else { errno.into() })?;
        if sent == 0 {
            return Err(range.unreadable(io::ErrorKind::UnexpectedEof.into()));
        }
        range.offset = offset;
        range.length = range.length.saturating_sub(sent);
        if range.length == 0 {
            ranges.pop_front();
        }
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_from_its_server_is_not_taken_for_a_client_that_is_gone() {
        for of_file in [Errno::IO, Errno::STALE] {
            assert!(is_of_file(of_file), "{of_file:?}");
        }
        for of_socket in [Errno::PIPE, Errno::CONNRESET, Errno::TIMEDOUT] {
            assert!(!is_of_file(of_socket), "{of_socket:?}");
        }
    }
}
