//! One connection to the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::Method;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls_pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::answer::Answer;
use super::error::RequestError;
use super::request::Request;
use super::tap::{First, Tap};

/// How long to wait for the next byte of an answer.
const SILENCE: Duration = Duration::from_secs(30);

/// Maximum size of a body that does not matter, in bytes.
pub(crate) const SMALL_BODY: usize = 64 << 10;

/// How many bytes of an answer hyper reads ahead for a slow reader.
const READ_AHEAD: usize = 16 << 10;

/// How fast a connection reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Fast,
    Slow,
}

/// Counts requests, and the bytes of bodies that arrived.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Traffic {
    pub(super) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// What all requests on a connection have in common.
#[derive(Debug)]
pub(super) struct RequestDefaults {
    pub(super) path: String,
    pub(super) host: String,
    pub(super) authorization: Option<String>,
    pub(super) traffic: Arc<Traffic>,
}

/// A connection on which requests follow each other. Closed when dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Empty<Bytes>>,
    defaults: RequestDefaults,
    first: First,
    driver: JoinHandle<()>,
    certificate_problems: Vec<rustls::Error>,
    certificate: Option<CertificateDer<'static>>,
}

impl Connection {
    pub(super) async fn start<S>(
        stream: S,
        defaults: RequestDefaults,
        pace: Pace,
        (certificate, certificate_problems): (Option<CertificateDer<'static>>, Vec<rustls::Error>),
    ) -> Result<Self, RequestError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (stream, first) = Tap::new(stream);
        let mut builder = http1::Builder::new();
        match pace {
            Pace::Fast => builder.max_buf_size(64 << 10),
            Pace::Slow => builder.read_buf_exact_size(Some(READ_AHEAD)),
        };
        let (sender, connection) = builder.title_case_headers(true).handshake(TokioIo::new(stream)).await?;
        // The answers show how the connection ends.
        let driver = tokio::spawn(async { drop(connection.await) });
        Ok(Self { sender, defaults, first, driver, certificate_problems, certificate })
    }

    /// The server's certificate.
    pub(crate) fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.certificate.as_ref()
    }

    /// What is wrong with the server's certificate.
    pub(crate) fn certificate_problems(&self) -> &[rustls::Error] {
        &self.certificate_problems
    }

    /// Whether these bytes were among the first that arrived.
    pub(crate) fn began_with(&self, bytes: &[u8]) -> bool {
        self.first.contains(bytes)
    }

    /// Whether another request can be sent on it.
    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request and reads its answer, with at most `limit` bytes of the body. If the body is longer, the
    /// connection cannot be used again.
    pub(crate) async fn send(&mut self, request: &Request, limit: usize) -> Result<Answer, RequestError> {
        let begun = Instant::now();
        let (mut answer, mut body) = self.begin(request).await?;
        let mut read = BytesMut::new();
        answer.complete = loop {
            match next(&mut body).await? {
                None => break true,
                Some(data) => {
                    self.defaults.traffic.received(data.len());
                    read.extend_from_slice(&data);
                }
            }
            if read.len() > limit {
                break false;
            }
        };
        // The last frame may have gone over the limit. That shows that the body is longer.
        answer.body = read.freeze();
        answer.took = begun.elapsed();
        if !answer.complete {
            self.driver.abort();
        }
        Ok(answer)
    }

    /// Sends a request and reads the head of its answer.
    pub(crate) async fn begin(&mut self, request: &Request) -> Result<(Answer, Incoming), RequestError> {
        let begun = Instant::now();
        let RequestDefaults { path, host, authorization, traffic } = &self.defaults;
        let http_request = request.build(path, host, authorization.as_deref())?;
        self.sender.ready().await?;
        traffic.count_request();
        let response = timeout(SILENCE, self.sender.send_request(http_request))
            .await
            .map_err(|_| RequestError::Silence(SILENCE))??;
        let (head, body) = response.into_parts();
        let answer = Answer {
            request: request.to_string(),
            version: head.version,
            status: head.status,
            headers: head.headers,
            body: Bytes::new(),
            complete: request.method == Method::HEAD,
            took: begun.elapsed(),
        };
        Ok((answer, body))
    }

    /// Counts bytes that were read from the body of [`Connection::begin`].
    pub(crate) fn received(&self, bytes: usize) {
        self.defaults.traffic.received(bytes);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The next bytes of a body. `None` at its end.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, RequestError> {
    loop {
        match timeout(SILENCE, body.frame()).await.map_err(|_| RequestError::Silence(SILENCE))? {
            None => return Ok(None),
            // No reader of images uses trailers.
            Some(frame) => {
                if let Ok(data) = frame.map_err(|error| RequestError::of_body(&error))?.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}
