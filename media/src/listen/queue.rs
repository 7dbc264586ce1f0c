//! Limits how many unsent bytes the kernel queues for a client.
//!
//! By default, the kernel queues up to 4 MiB (`net.ipv4.tcp_wmem`) for a client that does not read, and a thousand such
//! clients reach the system's limit of TCP memory. For a fast client, a long queue helps: on a busy machine it lasts
//! until this process runs again. Every connection therefore begins with a short queue, and a limited number of fast
//! clients get a long one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::SockRef;
use tokio::io::Sink;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::server::TlsStream;

/// Length of a short queue in bytes. Bytes in flight do not count, so a distant client loses nothing.
pub(super) const SHORT: u32 = 128 << 10;

/// Length of a long queue: only the kernel's own limit applies.
const LONG: u32 = u32::MAX;

/// Maximum number of long queues. They take 256 MiB if all their clients stop reading.
pub(super) const LONG_QUEUES: usize = 64;

/// A client is fast if it reads so many bytes within [`WITHIN`].
const FAST: usize = 4 << 20;
const WITHIN: Duration = Duration::from_secs(1);

/// A stream over a TCP socket.
pub(super) trait Socket {
    /// The socket. `None` in tests.
    fn socket(&self) -> Option<&TcpStream>;
}

impl Socket for TcpStream {
    fn socket(&self) -> Option<&TcpStream> {
        Some(self)
    }
}

impl Socket for TlsStream<TcpStream> {
    fn socket(&self) -> Option<&TcpStream> {
        Some(self.get_ref().0)
    }
}

impl Socket for Sink {
    fn socket(&self) -> Option<&TcpStream> {
        None
    }
}

/// The length of a connection's send queue.
#[derive(Debug)]
pub(super) struct SendQueue {
    places: Arc<Semaphore>,
    /// Held while the queue is long.
    place: Option<OwnedSemaphorePermit>,
    taken: usize,
    since: Instant,
}

impl SendQueue {
    /// A short queue, which may become one of `places` long ones.
    pub(super) fn new(places: Arc<Semaphore>) -> Self {
        Self { places, place: None, taken: 0, since: Instant::now() }
    }

    /// Counts bytes that the kernel accepted, and changes the length of the queue if the client has become fast or
    /// slow.
    pub(super) fn written(&mut self, count: usize, stream: &impl Socket) {
        self.taken = self.taken.saturating_add(count);
        if self.taken < FAST {
            return;
        }
        let fast = self.since.elapsed() < WITHIN;
        self.taken = 0;
        self.since = Instant::now();
        if fast == self.place.is_some() {
            return;
        }
        self.place = if fast { Arc::clone(&self.places).try_acquire_owned().ok() } else { None };
        let length = if self.place.is_some() { LONG } else { SHORT };
        if let Some(socket) = stream.socket()
            && let Err(error) = SockRef::from(socket).set_tcp_notsent_lowat(length)
        {
            tracing::debug!(%error, "TCP_NOTSENT_LOWAT");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::sink;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn fast_clients_have_long_queues_as_long_as_there_are_places() {
        let places = Arc::new(Semaphore::new(1));
        let mut queues = [SendQueue::new(Arc::clone(&places)), SendQueue::new(Arc::clone(&places))];
        for queue in &mut queues {
            (0..16).for_each(|_| queue.written(FAST / 8, &sink()));
        }
        let is_long = |queues: &[SendQueue]| queues.iter().map(|queue| queue.place.is_some()).collect::<Vec<_>>();
        assert_eq!(is_long(&queues), [true, false]);
        // The first becomes slow, which makes room for the second.
        queues[0].since = Instant::now().checked_sub(WITHIN).unwrap();
        for queue in &mut queues {
            queue.written(FAST, &sink());
        }
        assert_eq!(is_long(&queues), [false, true]);
        drop(queues);
        assert_eq!(places.available_permits(), 1);
    }

    /// Operators set the memory limit of a container by it.
    #[test]
    fn the_page_has_both_lengths() {
        let page = include_str!("../../../docs/commands.md");
        let (_, limit) = page.split_once("\n- The kernel queues at most ").unwrap();
        let limit = limit.split("\n\n").next().unwrap();
        assert!(limit.starts_with(&format!("{} KiB ", SHORT >> 10)), "{limit}");
        for text in [format!("up to {LONG_QUEUES} clients"), format!("take {} MiB", FAST >> 20)] {
            assert!(limit.contains(&text), "{text}: {limit}");
        }
    }

    #[tokio::test]
    async fn the_socket_gets_the_length() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut queue = SendQueue::new(Arc::new(Semaphore::new(1)));
        let length = || SockRef::from(&stream).tcp_notsent_lowat().unwrap();
        queue.written(FAST, &stream);
        assert_eq!(length(), LONG);
        queue.since = Instant::now().checked_sub(WITHIN).unwrap();
        queue.written(FAST, &stream);
        assert_eq!(length(), SHORT);
    }
}
