//! One connection.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::Method;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::connector::Asking;
use super::tap::{First, Tap};
use super::{Answer, Ask, Pace, Trouble};

/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// The most that is read of an answer that was not to have a body of interest.
pub(crate) const GLIMPSE: usize = 64 << 10;

/// How much of an answer is read ahead of who reads it.
const READ_AHEAD: usize = 16 << 10;

/// A connection on which requests follow each other. Closed when dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Empty<Bytes>>,
    asking: Asking,
    first: First,
    driver: JoinHandle<()>,
    judgement: Option<rustls::Error>,
}

impl Connection {
    pub(super) async fn start<S>(
        stream: S,
        asking: Asking,
        pace: Pace,
        judgement: Option<rustls::Error>,
    ) -> Result<Self, Trouble>
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
        // How it ends shows in the answers.
        let driver = tokio::spawn(async { drop(connection.await) });
        Ok(Self { sender, asking, first, driver, judgement })
    }

    /// What is wrong with the server's certificate.
    pub(crate) fn certificate(&self) -> Option<&rustls::Error> {
        self.judgement.as_ref()
    }

    /// Whether these bytes came among the first.
    pub(crate) fn began_with(&self, bytes: &[u8]) -> bool {
        self.first.contains(bytes)
    }

    /// Whether another request can be sent on it.
    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request and reads its answer, `limit` bytes of the body at most. If there are more, the connection is
    /// of no more use.
    pub(crate) async fn ask(&mut self, ask: &Ask, limit: usize) -> Result<Answer, Trouble> {
        let begun = Instant::now();
        let (mut answer, mut body) = self.begin(ask).await?;
        let mut read = BytesMut::new();
        answer.complete = loop {
            match next(&mut body).await? {
                None => break true,
                Some(data) => {
                    self.asking.traffic.received(data.len());
                    read.extend_from_slice(&data);
                }
            }
            if read.len() > limit {
                break false;
            }
        };
        // Bytes behind the limit are none that anybody asked for.
        answer.body = read.freeze();
        answer.took = begun.elapsed();
        if !answer.complete {
            self.driver.abort();
        }
        Ok(answer)
    }

    /// Sends a request and reads the head of its answer.
    pub(crate) async fn begin(&mut self, ask: &Ask) -> Result<(Answer, Incoming), Trouble> {
        let begun = Instant::now();
        let Asking { path, host, authorization, traffic } = &self.asking;
        let request = ask.request(path, host, authorization.as_deref())?;
        self.sender.ready().await?;
        traffic.request();
        let response =
            timeout(SILENCE, self.sender.send_request(request)).await.map_err(|_| Trouble::Silence(SILENCE))??;
        let (head, body) = response.into_parts();
        let answer = Answer {
            asked: ask.to_string(),
            version: head.version,
            status: head.status,
            headers: head.headers,
            body: Bytes::new(),
            complete: ask.method == Method::HEAD,
            took: begun.elapsed(),
        };
        Ok((answer, body))
    }

    /// Counts bytes that were read of a body that [`Connection::begin`] gave.
    pub(crate) fn received(&self, bytes: usize) {
        self.asking.traffic.received(bytes);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The next bytes of a body; none at its end.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Trouble> {
    loop {
        match timeout(SILENCE, body.frame()).await.map_err(|_| Trouble::Silence(SILENCE))? {
            None => return Ok(None),
            // Trailers are nothing that a reader of images looks at.
            Some(frame) => {
                if let Ok(data) = frame?.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}
