//! One connection, from accept to close.

use std::error::Error;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use http::{Request, Response};
use http_body::Body;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ProtocolVersion;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::client_certificate::ClientCertificate;
use super::direct::{Conversation, DirectAnswers, Next, Rewound, Sender};
use super::evictable::Evictable;
use super::file_ranges::FileRanges;
use super::idle::Waiting;
use super::message::Fault;
use super::metrics::Closed;
use super::options::Options;
use super::peer::{NeedsNoSecret, Peer};
use super::phase::Phase;
use super::queue::Socket;
use super::table::{Admission, Standing};
use super::yielding::YieldingStream;
use crate::LogLimit;

/// How many bytes one connection may buffer in either direction: the head of a request, and bytes to send.
const BUFFERED: usize = 64 << 10;

/// Limits the log lines about handshakes, because anybody can make them fail at any rate.
static HANDSHAKES: LogLimit = LogLimit::new();

pub(super) async fn serve<S, B, D>(
    stream: TcpStream,
    address: SocketAddr,
    admission: &Admission,
    services: (S, D),
    options: &Options,
    mut phase: watch::Receiver<Phase>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
    D: DirectAnswers,
{
    // Without this option, the last piece of each answer waits for the client's delayed acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%address, %error, "TCP_NODELAY");
    }
    let Some(tls) = &options.tls else {
        return serve_http(stream, Peer { address, tls: None }, None, admission, services, options, phase).await;
    };
    let replaced = tls.replaced();
    let handshake = tls.accept(stream);
    let result = tokio::select! {
        result = timeout(options.handshake_timeout, handshake) => result,
        () = admission.evicted() => return options.metrics.closed(Closed::Evicted),
        _ = phase.wait_for(|phase| *phase >= Phase::Draining) => return,
    };
    // The operator must see here why a BMC cannot connect. Otherwise only the BMC would show it.
    match result {
        Ok(Ok(stream)) => {
            let version = match stream.get_ref().1.protocol_version() {
                Some(ProtocolVersion::TLSv1_2) => "1.2",
                Some(ProtocolVersion::TLSv1_3) => "1.3",
                _ => "other",
            };
            let own = stream.get_ref().1.peer_certificates().and_then(<[_]>::first).map(ClientCertificate::new);
            let own = own.map(|certificate| (certificate, replaced));
            let peer = Peer { address, tls: Some(version) };
            // Boxed, because it is larger than all else here: a connection without TLS would take as much memory.
            Box::pin(serve_http(stream, peer, own, admission, services, options, phase)).await;
        }
        Ok(Err(error)) => {
            options.metrics.closed(Closed::Handshake);
            if let Some(suppressed) = HANDSHAKES.admit() {
                tracing::info!(peer = %address, %error, suppressed, "TLS handshake failed");
            }
        }
        Err(_) => {
            options.metrics.closed(Closed::HandshakeTimeout);
            if let Some(suppressed) = HANDSHAKES.admit() {
                tracing::info!(peer = %address, suppressed, "TLS handshake timed out");
            }
        }
    }
}

async fn serve_http<T, S, B, D>(
    stream: T,
    peer: Peer,
    client: Option<(ClientCertificate, CancellationToken)>,
    admission: &Admission,
    (service, direct): (S, D),
    options: &Options,
    mut phase: watch::Receiver<Phase>,
) where
    T: AsyncRead + AsyncWrite + Socket + Unpin,
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
    D: DirectAnswers,
{
    // For a byte in either direction, and for the head of a direct request.
    let (for_byte, for_head) = (Waiting::begun(), Waiting::not_begun());
    let files = (options.sendfile && peer.tls.is_none()).then(FileRanges::default);
    let stream = YieldingStream::new(stream, for_byte.clone(), admission.queue()).with_files(files.clone());
    let standing = admission.standing();
    let inner_phase = phase.clone();
    let all = async {
        let sender = Sender { peer, files: files.as_ref() };
        let conversation = Conversation::new(stream, &direct, sender, standing, &for_head);
        let (read, stream) = match conversation.run(&inner_phase).await? {
            Next::Ended => return Ok(()),
            Next::Hyper(read, stream) => (read, stream),
        };
        let is_over = |(certificate, replaced): &(ClientCertificate, CancellationToken)| {
            replaced.is_cancelled() || certificate.has_expired()
        };
        if client.as_ref().is_some_and(is_over) {
            return Ok(());
        }
        let certificate = client.as_ref().map(|(certificate, _)| certificate.clone());
        let service = with_extensions(service, peer, certificate, files.clone(), standing, options);
        let refused = refused(client);
        // Boxed, because it is larger than all else here, and a BMC that reads an image never needs it.
        let rest = Box::pin(by_hyper(Rewound::new(read, stream), service, options, inner_phase, refused));
        rest.await.map_err(|error| {
            // hyper reads heads that are too long for `Conversation`, and has its own timer for them.
            if error.is_timeout() {
                count_silence(standing, options);
            }
            io::Error::other(error)
        })
    };
    let ends = async {
        let mut stalled = pin!(for_byte.overdue(options.idle_timeout));
        let mut overdue = pin!(for_head.overdue(options.header_timeout));
        let mut evicted = pin!(admission.evicted());
        let mut first_request = pin!(sleep(options.first_request_timeout));
        let mut awaits_first = true;
        loop {
            tokio::select! {
                biased;
                () = stalled.as_mut() => {
                    if !standing.is_answering() {
                        count_silence(standing, options);
                        tracing::debug!(peer = %peer.address, "connection closed: it was idle");
                        return;
                    }
                    // The client waits for the service. Its silence begins with the answer.
                    for_byte.restart();
                    stalled.set(for_byte.overdue(options.idle_timeout));
                }
                () = overdue.as_mut() => {
                    count_silence(standing, options);
                    tracing::debug!(peer = %peer.address, "connection closed: no request in time");
                    return;
                }
                () = evicted.as_mut() => {
                    options.metrics.closed(Closed::Evicted);
                    tracing::debug!(peer = %peer.address, "connection closed to make room for another one");
                    return;
                }
                () = first_request.as_mut(), if awaits_first => {
                    awaits_first = false;
                    if !standing.has_had_request() {
                        count_silence(standing, options);
                        tracing::debug!(peer = %peer.address, "connection closed: no request in time");
                        return;
                    }
                }
                _ = phase.wait_for(|phase| *phase >= Phase::Stopped) => return,
            }
        }
    };
    // Each request, and each piece of an answer, wakes this task. Polling a timer takes a lock or clones a waker, so a set of their own
    // polls the timers only when one of them has woken it. Boxed, because the set also allocates an empty place for a future.
    let mut ends = FuturesUnordered::from_iter([ends.boxed()]);
    let mut all = pin!(all);
    tokio::select! {
        biased;
        result = all.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(peer = %peer.address, %error, "connection ended");
            }
        }
        _ = ends.next() => {}
    }
}

/// Counts a connection that dayone closes because its client was silent, unless it has had a request.
fn count_silence(standing: &Standing, options: &Options) {
    if !standing.has_had_request() {
        options.metrics.closed(Closed::NoRequest);
    }
}

/// The service, with the facts about the connection that it needs. Refuses requests with faults, unless the service does so itself.
fn with_extensions<S, B>(
    service: S,
    peer: Peer,
    certificate: Option<ClientCertificate>,
    files: Option<FileRanges>,
    standing: &Arc<Standing>,
    options: &Options,
) -> impl HttpService<Incoming, ResBody = Either<Full<Bytes>, B>, Error = S::Error, Future: Send>
where
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone + Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    service_fn(move |mut request: Request<Incoming>| {
        let in_progress = standing.begin_request();
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Evictable::new(standing));
        if let Some(certificate) = &certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        if let Some(files) = &files {
            request.extensions_mut().insert(files.clone());
        }
        let service = service.clone();
        async move {
            if let Some(fault) = Fault::of(request.headers()) {
                options.metrics.malformed();
                tracing::debug!(peer = %peer.address, %fault, "request refused");
                if !options.service_answers_faults {
                    return Ok::<_, S::Error>(fault.answer().map(|text: Full<Bytes>| Either::Left(text)));
                }
                request.extensions_mut().insert(fault);
            }
            let response = service.oneshot(request).await?;
            if response.extensions().get::<NeedsNoSecret>().is_none() {
                in_progress.answered(response.status());
            }
            Ok(response.map(Either::Right))
        }
    })
}

/// Completes when a new connection of the client would be refused: its certificate has expired, or other authorities replace those that
/// vouch for it.
async fn refused(client: Option<(ClientCertificate, CancellationToken)>) {
    let Some((certificate, replaced)) = client else { return pending().await };
    // Boxed, because connections without a certificate would take as much memory.
    let expired = Box::pin(certificate.expired());
    tokio::select! {
        () = expired => {}
        () = replaced.cancelled() => {}
    }
}

/// Serves the rest of a connection, until the listener ends, or the client is to be refused.
async fn by_hyper<T, S>(
    stream: T,
    service: S,
    options: &Options,
    mut phase: watch::Receiver<Phase>,
    refused: impl Future<Output = ()>,
) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
    S: HttpService<Incoming, ResBody: 'static, Error: Into<Box<dyn Error + Send + Sync>>>,
    <S::ResBody as Body>::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .max_buf_size(BUFFERED)
        // A client that closes its sending side still waits for the answer.
        .half_close(true)
        // Some firmware compares the names of headers with their case.
        .title_case_headers(true);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        biased;
        result = connection.as_mut() => return result,
        _ = phase.wait_for(|phase| !phase.is_serving()) => {}
        () = refused => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane::{MediaBody, MediaService};

    /// The size of what an asynchronous function with six arguments returns.
    fn size<A, B, C, D, E, F, Connection: Future>(_: fn(A, B, C, D, E, F) -> Connection) -> usize {
        size_of::<Connection>()
    }

    /// The timers have memory of their own, which this does not count.
    #[test]
    fn a_connection_on_which_a_bmc_reads_needs_little_memory() {
        let size = size(serve::<MediaService, MediaBody, MediaService>);
        assert!(size <= 3072, "{size} bytes");
    }
}
