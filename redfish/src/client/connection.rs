//! The HTTP/1.1 connection to a BMC: for one request at a time, and kept for the next one.
//!
//! hyper needs 25 KiB for each connection, as long as the connection lives: a buffer of 8 KiB to write, one of 8 KiB or more to read, and
//! a queue with places for 32 requests. Thousands of boots wait at the same time, and most of the time, a boot has no request under way.
//! So this module lends the connection to hyper for one request, and takes it back after the answer. Between two requests, there are only
//! the socket and the state of TLS. Lending it sends nothing to the BMC. A client with a pool, such as that of reqwest, has no way to do
//! so.
//!
//! The sizes of the buffers are hyper's own, because they last only as long as a request. 8 KiB hold a usual answer of a BMC (2 to 8 KiB),
//! and hyper reads more at a time while an answer fills its buffer. A fixed size (`read_buf_exact_size`) would also limit the headers of
//! an answer.

use std::error::Error as _;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONNECTION, HOST};
use http::{HeaderValue, Request, Response, Uri, Version, response};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tower::BoxError;
use url::Url;

use super::dialer::{Dialer, Stream};
use super::kept::Kept;
use crate::AllowedNetworks;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    /// The request cannot be written as HTTP.
    #[error(transparent)]
    Request(#[from] http::Error),
    /// There is no connection. Nothing was sent.
    #[error("no connection")]
    Unreachable(#[source] BoxError),
    /// There was no connection in time. Nothing was sent.
    #[error("no connection in time")]
    ConnectTimeout,
    /// There was no whole answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The answer is longer than its limit.
    #[error("the answer is too long")]
    TooLong,
    /// The connection broke off, or the answer is not HTTP.
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

impl ConnectionError {
    /// Whether a time limit has passed: one of this client, or one that the kernel has for TCP.
    pub(super) fn is_timeout(&self) -> bool {
        let mut errors = std::iter::successors(self.source(), |&error| error.source())
            .filter_map(|error| error.downcast_ref::<io::Error>());
        matches!(self, Self::ConnectTimeout | Self::Timeout)
            || errors.any(|error| error.kind() == io::ErrorKind::TimedOut)
    }
}

/// The head and the body of an answer.
type Answer = Result<(response::Parts, Vec<u8>), ConnectionError>;

/// The connection to one BMC, made when a request needs it.
pub(super) struct Connection {
    dialer: Dialer,
    host: HeaderValue,
    /// How long a connection without a request is kept.
    idle: Duration,
    kept: Option<Kept>,
}

impl Connection {
    /// `tls` must be given for `https`, and only then.
    pub(super) fn new(
        origin: &Url,
        tls: Option<ClientConfig>,
        networks: AllowedNetworks,
        connect_timeout: Duration,
        idle: Duration,
    ) -> Result<Self, http::Error> {
        let server = origin.as_str().parse::<Uri>()?;
        let host = origin.host_str().unwrap_or_default();
        // A URL has no port if it is the usual one of its scheme.
        let host = origin.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let host = HeaderValue::try_from(host)?;
        let dialer = Dialer { server, tls: tls.map(Arc::new), networks, timeout: connect_timeout };
        Ok(Self { dialer, host, idle, kept: None })
    }

    /// Sends a request and reads its answer, all within a time limit. If the BMC closed the kept connection before a byte of the request
    /// was written, sends the request over a new connection. Keeps the connection only if the answer was read to its end.
    pub(super) fn send(
        &mut self,
        mut request: Request<String>,
        within: Duration,
        limit: usize,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        request.headers_mut().insert(HOST, self.host.clone());
        // On the heap: the future of a boot lasts as long as the boot, and would reserve this memory all the time.
        Box::pin(async move {
            let answer = tokio::time::timeout(within, self.exchange(request, limit)).await;
            answer.unwrap_or(Err(ConnectionError::Timeout))
        })
    }

    async fn exchange(&mut self, mut request: Request<String>, limit: usize) -> Answer {
        let mut kept = self.reopen().await;
        let (mut open, answer) = loop {
            let is_kept = kept.is_some();
            let (mut open, version) = match kept.take() {
                Some(kept) => kept,
                None => (self.open().await?, Version::HTTP_11),
            };
            set_version(&mut request, version);
            match open.send(request).await {
                Ok(answer) => break (open, answer),
                Err((_, Some(unsent))) if is_kept => request = *unsent,
                Err((error, _)) => return Err(error.into()),
            }
        };
        let (head, body) = answer.into_parts();
        let body = open.receive(body, limit).await?;
        self.kept = open.finish().await.map(|stream| Kept::new(stream, head.version, self.idle));
        Ok((head, body))
    }

    /// Opens the kept connection again, with the version of HTTP that the BMC speaks on it. `None` if the BMC has closed it.
    async fn reopen(&mut self) -> Option<(Open, Version)> {
        let kept = self.kept.take()?;
        let version = kept.version;
        Some((Open::over(kept.take().await?).await.ok()?, version))
    }

    /// Opens a new connection. The time limit is for DNS, TCP and TLS together.
    async fn open(&self) -> Result<Open, ConnectionError> {
        let stream = tokio::time::timeout(self.dialer.timeout, self.dialer.dial()).await;
        let stream = stream.map_err(|_| ConnectionError::ConnectTimeout)?.map_err(ConnectionError::Unreachable)?;
        Ok(Open::over(stream).await?)
    }
}

/// Sets the version of HTTP. HTTP/1.0 closes a connection after each request that does not ask to keep it. hyper would set both if it
/// knew the version of the last answer.
fn set_version(request: &mut Request<String>, version: Version) {
    *request.version_mut() = version;
    request.headers_mut().remove(CONNECTION);
    if version == Version::HTTP_10 {
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("keep-alive"));
    }
}

type Driver = http1::Connection<TokioIo<Stream>, String>;

/// A connection with hyper, for one request.
struct Open {
    sender: SendRequest<String>,
    /// hyper's half that reads and writes. `None` after the connection has ended. It has no task of its own: the future that waits for
    /// the answer polls it.
    driver: Option<Driver>,
}

impl Open {
    async fn over(stream: Stream) -> Result<Self, hyper::Error> {
        // With vectored writes, hyper is not ready for another request while a part of a request's body is unsent. Without them, it is,
        // and `finish` would keep a connection on which the BMC still waits for the rest.
        let (mut sender, driver) = http1::Builder::new().writev(true).handshake(TokioIo::new(stream)).await?;
        let mut driver = Some(driver);
        poll_fn(|cx| {
            let end = drive(&mut driver, cx);
            match (sender.poll_ready(cx), end) {
                // hyper tells the sender only that the connection has ended, and not why.
                (Poll::Ready(Err(_)), Some(Err(error))) => Poll::Ready(Err(error)),
                (ready, _) => ready,
            }
        })
        .await?;
        Ok(Self { sender, driver })
    }

    /// Sends a request, and reads the head of the answer. On an error, gives back a request of which not a byte was written.
    async fn send(
        &mut self,
        request: Request<String>,
    ) -> Result<Response<Incoming>, (hyper::Error, Option<Box<Request<String>>>)> {
        let Self { sender, driver } = self;
        let mut answer = pin!(sender.try_send_request(request));
        let answer = poll_fn(|cx| {
            drive(driver, cx);
            answer.as_mut().poll(cx)
        });
        answer.await.map_err(|mut error| {
            let unsent = error.take_message().map(Box::new);
            (error.into_error(), unsent)
        })
    }

    async fn receive(&mut self, mut body: Incoming, limit: usize) -> Result<Vec<u8>, ConnectionError> {
        let mut received = Vec::new();
        loop {
            let frame = poll_fn(|cx| {
                drive(&mut self.driver, cx);
                Pin::new(&mut body).poll_frame(cx)
            });
            let Some(frame) = frame.await.transpose()? else { return Ok(received) };
            // Trailers have no meaning in Redfish.
            let Ok(chunk) = frame.into_data() else { continue };
            if received.len() + chunk.len() > limit {
                return Err(ConnectionError::TooLong);
            }
            received.extend_from_slice(&chunk);
        }
    }

    /// Takes the stream back from hyper if another request may use it: the request was sent to its end, the answer was read to its
    /// end, neither of the two ends the connection, and there are no bytes behind the answer.
    async fn finish(mut self) -> Option<Stream> {
        let is_ready = poll_fn(|cx| {
            drive(&mut self.driver, cx);
            Poll::Ready(matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(()))))
        });
        let is_ready = is_ready.await;
        let parts = self.driver.filter(|_| is_ready)?.into_parts();
        parts.read_buf.is_empty().then(|| parts.io.into_inner())
    }
}

/// Polls the half of hyper that reads and writes. When the connection ends, returns the reason, and only then.
fn drive(driver: &mut Option<Driver>, cx: &mut Context<'_>) -> Option<Result<(), hyper::Error>> {
    let Poll::Ready(end) = Pin::new(driver.as_mut()?).poll(cx) else { return None };
    // Dropping it gives a request back that it has not begun to write.
    *driver = None;
    Some(end)
}

#[cfg(test)]
mod tests;
