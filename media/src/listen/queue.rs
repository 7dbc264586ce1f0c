//! How much the kernel queues for a client beyond what it has sent.
//!
//! Left alone, the kernel queues up to 4 MiB (`net.ipv4.tcp_wmem`) for a client that does not read, and a thousand such
//! clients reach the system's limit on TCP memory. A client that reads fast is worth a long queue all the same: on a busy
//! machine it covers the time until this process runs again. So every connection begins with a short queue, and a
//! bounded number of fast ones have a long one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::SockRef;
use tokio::io::Sink;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::server::TlsStream;

/// Bytes that are queued for any client. What is in flight is not among them, so a distant client loses nothing.
pub(super) const SHORT: u32 = 128 << 10;

/// No bound but the kernel's own.
const LONG: u32 = u32::MAX;

/// How many connections have long queues: 256 MiB if all their clients stop reading.
pub(super) const LONG_QUEUES: usize = 64;

/// A client is fast if it takes so many bytes in [`WITHIN`].
const TAKEN: usize = 4 << 20;
const WITHIN: Duration = Duration::from_secs(1);

/// A stream with a TCP socket below it.
pub(super) trait Socket {
    /// The socket; none in tests.
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

/// The queue of a connection.
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

    /// Notes bytes that the kernel took, and sets the length of the queue anew if the client has become fast or slow.
    pub(super) fn took(&mut self, count: usize, stream: &impl Socket) {
        self.taken = self.taken.saturating_add(count);
        if self.taken < TAKEN {
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
            (0..16).for_each(|_| queue.took(TAKEN / 8, &sink()));
        }
        let is_long = |queues: &[SendQueue]| queues.iter().map(|queue| queue.place.is_some()).collect::<Vec<_>>();
        assert_eq!(is_long(&queues), [true, false]);
        // The first becomes slow, which makes room for the second.
        queues[0].since = Instant::now().checked_sub(WITHIN).unwrap();
        for queue in &mut queues {
            queue.took(TAKEN, &sink());
        }
        assert_eq!(is_long(&queues), [false, true]);
        drop(queues);
        assert_eq!(places.available_permits(), 1);
    }

    #[tokio::test]
    async fn the_socket_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut queue = SendQueue::new(Arc::new(Semaphore::new(1)));
        let length = || SockRef::from(&stream).tcp_notsent_lowat().unwrap();
        queue.took(TAKEN, &stream);
        assert_eq!(length(), LONG);
        queue.since = Instant::now().checked_sub(WITHIN).unwrap();
        queue.took(TAKEN, &stream);
        assert_eq!(length(), SHORT);
    }
}
