//! One connection, from accept to close.

use std::error::Error;
use std::net::SocketAddr;
use std::pin::pin;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ProtocolVersion;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tower::ServiceExt as _;

use super::client_certificate::ClientCertificate;
use super::file_ranges::FileRanges;
use super::idle::Activity;
use super::message::Fault;
use super::metrics::Closed;
use super::options::Options;
use super::queue::Socket;
use super::table::Admission;
use super::yielding::YieldingStream;
use crate::LogLimit;

/// The client of a connection. Every request has it as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The client's address.
    pub address: SocketAddr,
    /// The version of TLS: `1.2`, `1.3` or `other`. `None` on plain HTTP.
    pub tls: Option<&'static str>,
}

/// How many bytes one connection may buffer in either direction: the head of a request, and bytes to send.
const BUFFERED: usize = 64 << 10;

/// Limits the log lines about handshakes, because anybody can make them fail at any rate.
static HANDSHAKES: LogLimit = LogLimit::new();

/// The phases of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Serving,
    /// Current requests may end. No further requests are read.
    Draining,
    /// All connections end now.
    Stopped,
}

pub(super) async fn serve<S, B>(
    stream: TcpStream,
    address: SocketAddr,
    admission: &Admission,
    service: S,
    options: &Options,
    mut phase: watch::Receiver<Phase>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    // Without this option, the last piece of each answer waits for the client's delayed acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%address, %error, "TCP_NODELAY");
    }
    let Some(tls) = &options.tls else {
        return serve_http(stream, Peer { address, tls: None }, None, admission, service, options, phase).await;
    };
    let handshake = tls.acceptor().accept(stream);
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
            let peer = Peer { address, tls: Some(version) };
            serve_http(stream, peer, own, admission, service, options, phase).await;
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

async fn serve_http<T, S, B>(
    stream: T,
    peer: Peer,
    certificate: Option<ClientCertificate>,
    admission: &Admission,
    service: S,
    options: &Options,
    mut phase: watch::Receiver<Phase>,
) where
    T: AsyncRead + AsyncWrite + Socket + Unpin,
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    let activity = Activity::new();
    let files = (options.sendfile && peer.tls.is_none()).then(FileRanges::default);
    let stream = YieldingStream::new(stream, activity.clone(), admission.queue()).with_files(files.clone());
    let io = TokioIo::new(stream);
    let standing = admission.standing();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let in_progress = standing.begin_request();
        request.extensions_mut().insert(peer);
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
                return Ok::<_, S::Error>(fault.answer().map(|text: Full<Bytes>| Either::Left(text)));
            }
            let response = service.oneshot(request).await?;
            in_progress.answered(response.status());
            Ok(response.map(Either::Right))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .max_buf_size(BUFFERED)
        // A client that closes its sending side still waits for the answer.
        .half_close(true)
        // Some firmware compares the names of headers with their case.
        .title_case_headers(true);
    let mut connection = pin!(http.serve_connection(io, service));
    let mut stalled = pin!(activity.stalled(options.idle_timeout));
    let mut evicted = pin!(admission.evicted());
    let mut first_request = pin!(sleep(options.first_request_timeout));
    let mut awaits_first = true;
    let mut draining = false;
    loop {
        let wanted = if draining { Phase::Stopped } else { Phase::Draining };
        tokio::select! {
            biased;
            result = connection.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(peer = %peer.address, %error, "connection ended");
                }
                return;
            }
            () = stalled.as_mut() => {
                tracing::debug!(peer = %peer.address, "connection closed: it was idle");
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
                    options.metrics.closed(Closed::NoRequest);
                    tracing::debug!(peer = %peer.address, "connection closed: no request in time");
                    return;
                }
            }
            result = phase.wait_for(|phase| *phase >= wanted) => {
                if draining || result.is_err() {
                    return;
                }
                draining = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
