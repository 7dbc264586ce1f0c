//! Listening: the accept loop that both planes share.
//!
//! Its own rather than `axum::serve`, because a download must neither starve its neighbours (see [`fair`]) nor hold
//! a connection for ever, and because TLS, bounds and shutdown belong below the services.

mod connection;
mod fair;
mod idle;
mod message;
mod metrics;
mod queue;
mod table;
mod tls;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use connection::Phase;
use metrics::Closed;
pub use metrics::ListenMetrics;
use table::ConnectionTable;
pub use tls::{Tls, TlsError};

/// How long to wait after an error of `accept(2)` that will come again at once, such as too many open files.
const PAUSE: Duration = Duration::from_millis(250);

/// How long not to repeat that all connections are taken.
const QUIET: Duration = Duration::from_mins(1);

/// How a listener treats its connections.
#[derive(Debug, Clone)]
pub struct Options {
    /// Certificate and key; none is plain HTTP.
    pub tls: Option<Tls>,
    /// So many connections at once. For a further one, the oldest connection that waits for a request and never had a
    /// successful answer is closed. If there is none, it waits in the kernel's queue until one ends, rather than being
    /// refused: firmware that is refused gives up a mount, firmware that waits goes on.
    pub max_connections: u32,
    /// So many connections at once from one client address. For a further one, the oldest connection from that address
    /// that waits for a request and never had a successful answer is closed. If there is none, the new one is.
    pub max_per_address: u32,
    /// A connection on which no byte moves in either direction for this long is closed. There is no limit on how
    /// long a transfer takes: some BMCs read at 50 KB/s.
    pub idle_timeout: Duration,
    /// How long a client may take to send the head of its first request, counted from when it connected (or, with TLS,
    /// from the end of the handshake).
    pub first_request_timeout: Duration,
    /// How long a client may take to send the head of a further request, counted from when the one before was answered.
    pub header_timeout: Duration,
    /// How long a client may take over the TLS handshake.
    pub handshake_timeout: Duration,
    /// How long transfers may go on after shutdown was asked for, before they are cut off.
    pub drain: Duration,
    /// Where connections are counted.
    pub metrics: ListenMetrics,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tls: None,
            max_connections: 4096,
            max_per_address: 2048,
            idle_timeout: Duration::from_mins(5),
            first_request_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(30),
            metrics: ListenMetrics::default(),
        }
    }
}

/// Who is at the other end of a request's connection. Every request carries it as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// The version of TLS; none on plain HTTP.
    pub tls: Option<&'static str>,
}

/// A bound socket. Connections queue up from when it is bound, and are answered once it serves.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    options: Options,
}

impl Listener {
    /// Binds a TCP socket.
    pub async fn bind(address: SocketAddr, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        // Accepted connections inherit it.
        SockRef::from(&listener).set_tcp_notsent_lowat(queue::SHORT)?;
        Ok(Self { listener, options })
    }

    /// Where it is bound: the port that was chosen for port 0.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is cancelled. Then no connection is accepted any more, requests that are running may
    /// end within the drain limit, and what is left is cut off.
    pub async fn serve<S, B>(self, service: S, shutdown: CancellationToken)
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        S::Future: Send,
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        let Self { listener, options } = self;
        let (drain, all) = (options.drain, options.max_connections.max(1));
        let slots = Arc::new(Semaphore::new(usize::try_from(all).unwrap_or(Semaphore::MAX_PERMITS)));
        let (phase, watched) = watch::channel(Phase::Serving);
        let options = Arc::new(options);
        let table = ConnectionTable::new(options.max_per_address);
        let accept = async {
            let (mut warned, mut refused) = (None, None);
            loop {
                let (stream, address) = accept(&listener).await;
                let Some(admission) = table.admit(address.ip()) else {
                    options.metrics.closed(Closed::AddressLimit);
                    if is_due(&mut refused) {
                        let limit = options.max_per_address;
                        tracing::warn!(peer = %address, limit, "connection refused: its address has as many as it may");
                    }
                    continue;
                };
                let slot = loop {
                    if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
                        break slot;
                    }
                    if !admission.make_room() && is_due(&mut warned) {
                        tracing::warn!(limit = all, "all connections are taken; further clients wait until one ends");
                    }
                    // What cannot be evicted now may be in a moment.
                    match timeout(PAUSE, Arc::clone(&slots).acquire_owned()).await {
                        Ok(Ok(slot)) => break slot,
                        Ok(Err(_)) => return,
                        Err(_) => {}
                    }
                };
                let (service, options, watched) = (service.clone(), Arc::clone(&options), watched.clone());
                let counted = options.metrics.open();
                tokio::spawn(async move {
                    connection::serve(stream, address, &admission, service, &options, watched).await;
                    drop((admission, slot, counted));
                });
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = accept => {}
        }
        drop(listener);
        phase.send_replace(Phase::Draining);
        // All slots are free when all connections have ended.
        let ended = || slots.acquire_many(all);
        if timeout(drain, ended()).await.is_err() {
            let seconds = drain.as_secs_f64();
            tracing::warn!(seconds, "shutdown: the transfers that are still running after this time are cut off");
            phase.send_replace(Phase::Stopped);
            // They end when they are polled next, unless a service blocks its thread.
            let _ = timeout(PAUSE, ended()).await;
        }
    }
}

/// Whether it is time to say something again that was last said then. If so, it is said now.
fn is_due(last: &mut Option<Instant>) -> bool {
    let due = last.is_none_or(|last| last.elapsed() >= QUIET);
    if due {
        *last = Some(Instant::now());
    }
    due
}

/// The next connection. Errors never end the listener: those of a connection that is gone already are passed over,
/// and those of the process, such as too many open files, are waited out.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => match error.kind() {
                ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted => {}
                _ => {
                    tracing::error!(%error, "connections cannot be accepted at the moment");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
}
