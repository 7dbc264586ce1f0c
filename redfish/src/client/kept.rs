//! A connection between two requests.

use std::time::Duration;

use http::Version;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::dialer::Stream;

/// A connection without a request, in a task that closes it in time, or when the BMC does. Dropping this closes it, too.
pub(super) struct Kept {
    /// The version of HTTP in the BMC's last answer.
    pub(super) version: Version,
    end: Instant,
    wanted: oneshot::Sender<()>,
    task: JoinHandle<Option<Stream>>,
}

impl Kept {
    pub(super) fn new(stream: Stream, version: Version, idle: Duration) -> Self {
        let (wanted, is_wanted) = oneshot::channel();
        Self { version, end: Instant::now() + idle, wanted, task: tokio::spawn(keep(stream, is_wanted, idle)) }
    }

    /// The connection, if it is still open.
    pub(super) async fn take(self) -> Option<Stream> {
        // On a busy machine, the timer of the task may be late. Dropping this closes the connection.
        if self.end <= Instant::now() {
            return None;
        }
        self.wanted.send(()).ok()?;
        self.task.await.ok().flatten()
    }
}

/// Returns the connection when the client asks for it. Closes it after `idle`, when the client is dropped, or when the BMC closes it or
/// sends anything.
async fn keep(mut stream: Stream, wanted: oneshot::Receiver<()>, idle: Duration) -> Option<Stream> {
    let mut byte = [0];
    tokio::select! {
        biased;
        is_wanted = wanted => {
            if is_wanted.is_ok() {
                return Some(stream);
            }
        }
        _ = stream.read(&mut byte) => {}
        () = tokio::time::sleep(idle) => {}
    }
    // TLS tells the BMC that this is the end. A BMC that reads nothing more must not keep the connection open.
    let _ = tokio::time::timeout(idle, stream.shutdown()).await;
    None
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::io::DuplexStream;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn kept(idle: Duration) -> (Kept, DuplexStream) {
        let (stream, bmc) = tokio::io::duplex(64);
        (Kept::new(Box::new(stream), Version::HTTP_11, idle), bmc)
    }

    #[tokio::test]
    async fn an_unused_connection_is_closed_in_time() {
        let idle = Duration::from_millis(30);
        let begin = Instant::now();
        let (kept, mut bmc) = kept(idle);
        assert_eq!(bmc.read(&mut [0]).await.unwrap(), 0);
        assert!(begin.elapsed() >= idle);
        assert!(kept.take().await.is_none());
    }

    #[tokio::test]
    async fn a_connection_whose_time_is_over_is_not_taken() {
        // The task of the connection has not run yet.
        let (kept, _bmc) = kept(Duration::ZERO);
        assert!(kept.take().await.is_none());
    }

    #[tokio::test]
    async fn a_connection_is_closed_if_its_client_is_dropped() {
        let (kept, mut bmc) = kept(LONG);
        drop(kept);
        assert_eq!(bmc.read(&mut [0]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_connection_that_is_wanted_is_still_open() {
        let (kept, mut bmc) = kept(LONG);
        let mut stream = kept.take().await.unwrap();
        stream.write_all(b"x").await.unwrap();
        assert_eq!(bmc.read_u8().await.unwrap(), b'x');
    }

    #[tokio::test]
    async fn a_connection_on_which_the_bmc_sends_what_is_no_answer_is_closed() {
        let (silent, mut bmc) = kept(LONG);
        bmc.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        assert_eq!(bmc.read(&mut [0]).await.unwrap(), 0);
        assert!(silent.take().await.is_none());
        let (silent, bmc) = kept(LONG);
        drop(bmc);
        while !silent.task.is_finished() {
            tokio::task::yield_now().await;
        }
        assert!(silent.take().await.is_none());
    }
}
