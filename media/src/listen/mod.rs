//! The accept loop that both planes share: TLS, limits, eviction and graceful shutdown.
//!
//! `axum::serve` does not limit connections, and lets a fast download delay all others (see [`yielding`]).

mod client_certificate;
mod connection;
mod direct;
mod evictable;
pub(crate) mod file_ranges;
mod idle;
mod message;
mod metrics;
mod options;
mod peer;
mod phase;
mod queue;
mod table;
mod tls;
mod workers;
mod yielding;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use client_certificate::ClientCertificate;
pub use direct::{DirectAnswer, DirectAnswers, DirectRequest, Sender};
pub use evictable::Evictable;
pub use message::Fault;
use metrics::Closed;
pub use metrics::ListenMetrics;
pub use options::{LiveOptions, Options};
pub use peer::{NeedsNoSecret, Peer, client_of};
use phase::Phase;
use table::ConnectionTable;
pub use tls::{Tls, TlsError, missing_pem};
use workers::Workers;

/// How long to wait after an error of `accept(2)` that would return at once, such as too many open files.
const PAUSE: Duration = Duration::from_millis(250);

/// Minimum time between two warnings that all connections are taken.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);

/// How many connections wait in the kernel's queue.
const BACKLOG: i32 = 1024;

/// Binds a TCP socket that listens. `[::]` includes IPv4, whatever `net.ipv6.bindv6only` says.
pub fn listening_socket(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // A server that restarts does not wait for the end of old connections.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// A bound socket. Connections wait in the kernel's queue until [`serve`](Self::serve) runs.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    options: LiveOptions,
}

impl Listener {
    /// Binds a TCP socket. `[::]` includes IPv4.
    #[allow(clippy::unused_async, reason = "the socket needs a runtime, which every async caller has")]
    pub async fn bind(address: SocketAddr, options: Options) -> io::Result<Self> {
        let listener = TcpListener::from_std(listening_socket(address)?)?;
        // Accepted connections inherit the option.
        SockRef::from(&listener).set_tcp_notsent_lowat(queue::SHORT)?;
        Ok(Self { listener, options: LiveOptions::new(options) })
    }

    /// The bound address, with the port that the kernel chose for port 0.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The options, which can change while the listener serves.
    pub fn options(&self) -> LiveOptions {
        self.options.clone()
    }

    /// Serves until `shutdown` is cancelled. Then it accepts no more connections, lets current requests end within
    /// [`Options::drain`], and closes the remaining connections.
    pub async fn serve<S, B>(self, service: S, shutdown: CancellationToken)
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        S::Future: Send,
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        self.serve_with(service, (), shutdown).await;
    }

    /// [`serve`](Self::serve) with a service that answers [direct requests](DirectRequest) faster.
    pub async fn serve_directly<S, B>(self, service: S, shutdown: CancellationToken)
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>> + DirectAnswers,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        S::Future: Send,
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        self.serve_with(service.clone(), service, shutdown).await;
    }

    async fn serve_with<S, B, D>(self, service: S, direct: D, shutdown: CancellationToken)
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        S::Future: Send,
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
        D: DirectAnswers,
    {
        let Self { listener, options: live } = self;
        let all = live.get().max_connections.max(1);
        let slots = Arc::new(Semaphore::new(usize::try_from(all).unwrap_or(Semaphore::MAX_PERMITS)));
        let (phase, watched) = watch::channel(Phase::Serving);
        let table = ConnectionTable::new();
        let workers = live.get().threads.and_then(|count| {
            Workers::start(count)
                .inspect_err(|error| tracing::error!(%error, "cannot start threads for connections"))
                .ok()
        });
        let accept = async {
            let (mut warned, mut refused) = (None, None);
            loop {
                let (stream, address) = accept(&listener).await;
                let options = live.get();
                let Some(admission) = table.admit(address.ip(), options.max_per_address, PAUSE).await else {
                    options.metrics.closed(Closed::AddressLimit);
                    if is_due(&mut refused) {
                        let limit = options.max_per_address;
                        tracing::warn!(peer = %address, limit, "connection refused: too many from its address");
                    }
                    continue;
                };
                let slot = loop {
                    if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
                        break slot;
                    }
                    if !admission.make_room() && is_due(&mut warned) {
                        tracing::warn!(
                            limit = all,
                            "the limit of connections is reached; further clients wait until a connection ends"
                        );
                    }
                    // A connection that cannot be evicted now may be evicted in a moment.
                    match timeout(PAUSE, Arc::clone(&slots).acquire_owned()).await {
                        Ok(Ok(slot)) => break slot,
                        Ok(Err(_)) => return,
                        Err(_) => {}
                    }
                };
                let (services, watched) = ((service.clone(), direct.clone()), watched.clone());
                let counted = options.metrics.open();
                let serve = async move |stream| {
                    connection::serve(stream, address, &admission, services, &options, watched).await;
                    drop((admission, slot, counted));
                };
                match &workers {
                    Some(workers) => workers.serve(stream, serve),
                    None => drop(tokio::spawn(serve(stream))),
                }
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = accept => {}
            () = live.keep_certificate_current(tls::RELOAD) => {}
        }
        drop(listener);
        phase.send_replace(Phase::Draining);
        let drain = live.get().drain;
        // When all connections have ended, all slots are free.
        let ended = || slots.acquire_many(all);
        if timeout(drain, ended()).await.is_err() {
            let seconds = drain.as_secs_f64();
            tracing::warn!(seconds, "shutdown: closing the transfers that still run after this time");
            phase.send_replace(Phase::Stopped);
            // The connections end at their next poll, unless a service blocks its thread.
            let _ = timeout(PAUSE, ended()).await;
        }
    }
}

/// Whether to log a warning again. If so, records that it is logged now.
fn is_due(last: &mut Option<Instant>) -> bool {
    let due = last.is_none_or(|last| last.elapsed() >= WARNING_INTERVAL);
    if due {
        *last = Some(Instant::now());
    }
    due
}

/// Accepts the next connection. Errors never end the listener: it ignores errors of a connection that is gone already,
/// and waits if the process has a problem, such as too many open files.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => match error.kind() {
                ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted => {}
                _ => {
                    tracing::error!(%error, "cannot accept connections at the moment");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
}
