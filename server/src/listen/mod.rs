//! Listening: the accept loop that both planes share.
//!
//! Its own rather than `axum::serve`, because a download must neither starve its neighbours (see [`fair`]) nor hold
//! a connection for ever, and because TLS, bounds and shutdown belong below the services.

mod connection;
mod fair;
mod idle;
mod tls;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use connection::Phase;
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
    /// So many connections at once. Further ones wait in the kernel's queue until one ends, rather than being
    /// refused: firmware that is refused gives up a mount, firmware that waits goes on.
    pub max_connections: u32,
    /// A connection on which no byte moves in either direction for this long is closed. There is no limit on how
    /// long a transfer takes: some BMCs read at 50 KB/s.
    pub idle_timeout: Duration,
    /// How long a client may take to send the head of a request, counted from when the one before was answered.
    pub header_timeout: Duration,
    /// How long a client may take over the TLS handshake.
    pub handshake_timeout: Duration,
    /// How long transfers may go on after shutdown was asked for, before they are cut off.
    pub drain: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tls: None,
            max_connections: 4096,
            idle_timeout: Duration::from_mins(5),
            header_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(30),
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
        B: Body<Data: Buf + Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        let Self { listener, options } = self;
        let (drain, all) = (options.drain, options.max_connections.max(1));
        let slots = Arc::new(Semaphore::new(usize::try_from(all).unwrap_or(Semaphore::MAX_PERMITS)));
        let (phase, watched) = watch::channel(Phase::Serving);
        let options = Arc::new(options);
        let accept = async {
            let mut warned: Option<Instant> = None;
            loop {
                if slots.available_permits() == 0 && warned.is_none_or(|last| last.elapsed() >= QUIET) {
                    tracing::warn!(limit = all, "all connections are taken; further clients wait until one ends");
                    warned = Some(Instant::now());
                }
                let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
                let (stream, address) = accept(&listener).await;
                let (service, options, watched) = (service.clone(), Arc::clone(&options), watched.clone());
                tokio::spawn(async move {
                    connection::serve(stream, address, service, &options, watched).await;
                    drop(slot);
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
        if tokio::time::timeout(drain, ended()).await.is_err() {
            tracing::warn!(?drain, "shutdown: the transfers that are still running are cut off");
            phase.send_replace(Phase::Stopped);
            // They end when they are polled next, unless a service blocks its thread.
            let _ = tokio::time::timeout(PAUSE, ended()).await;
        }
    }
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
