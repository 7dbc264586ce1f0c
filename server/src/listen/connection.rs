//! One connection, from accept to close.

use std::error::Error;
use std::net::SocketAddr;
use std::pin::pin;

use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ProtocolVersion;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower::ServiceExt as _;

use super::fair::Fair;
use super::idle::Activity;
use super::{Options, Peer};

/// What one connection may hold in memory, in either direction: a request's head, and bytes on their way out.
const BUFFERED: usize = 64 << 10;

/// How a listener's life goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Serving,
    /// Requests that are running may end, no further ones are read.
    Draining,
    /// Everything ends now.
    Stopped,
}

pub(super) async fn serve<S, B>(
    stream: TcpStream,
    address: SocketAddr,
    service: S,
    options: &Options,
    mut phase: watch::Receiver<Phase>,
) where
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data: Buf, Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    // The last piece of each answer would wait for the client's delayed acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%address, %error, "TCP_NODELAY");
    }
    let Some(tls) = &options.tls else {
        return serve_http(stream, Peer { address, tls: None }, service, options, phase).await;
    };
    let handshake = tls.acceptor().accept(stream);
    let result = tokio::select! {
        result = tokio::time::timeout(options.handshake_timeout, handshake) => result,
        _ = phase.wait_for(|phase| *phase >= Phase::Draining) => return,
    };
    match result {
        Ok(Ok(stream)) => {
            let version = match stream.get_ref().1.protocol_version() {
                Some(ProtocolVersion::TLSv1_2) => "1.2",
                Some(ProtocolVersion::TLSv1_3) => "1.3",
                _ => "other",
            };
            serve_http(stream, Peer { address, tls: Some(version) }, service, options, phase).await;
        }
        // The operator needs to know why a BMC does not get through, and only the BMC's side shows it otherwise.
        Ok(Err(error)) => tracing::info!(%address, %error, "TLS handshake failed"),
        Err(_) => tracing::info!(%address, "TLS handshake not finished in time"),
    }
}

async fn serve_http<T, S, B>(stream: T, peer: Peer, service: S, options: &Options, mut phase: watch::Receiver<Phase>)
where
    T: AsyncRead + AsyncWrite + Unpin,
    S: tower::Service<Request<Incoming>, Response = Response<B>> + Clone,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data: Buf, Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    let activity = Activity::new();
    let io = TokioIo::new(Fair::new(stream, activity.clone()));
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        service.clone().oneshot(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .max_buf_size(BUFFERED)
        // A client that has sent all it will send still wants its answer.
        .half_close(true)
        // Firmware has been seen to compare header names by case.
        .title_case_headers(true);
    let mut connection = pin!(http.serve_connection(io, service));
    let mut stalled = pin!(activity.stalled(options.idle_timeout));
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
                tracing::debug!(peer = %peer.address, "connection closed: nothing moved on it");
                return;
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
