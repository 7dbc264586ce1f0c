//! A server of one small image, with ranges, for BMCs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::listen::{Identity, listen};

/// A running server. Dropping it stops it.
pub struct ImageServer {
    address: SocketAddr,
    scheme: &'static str,
    requests: Arc<AtomicUsize>,
    listener: JoinHandle<()>,
}

impl ImageServer {
    /// Starts a server of these bytes on a free port of loopback.
    pub async fn start(image: impl Into<Bytes>, identity: Option<Identity>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(AtomicUsize::new(0));
        let (counted, image) = (Arc::clone(&requests), image.into());
        let handler = move |request: Request<Incoming>| {
            counted.fetch_add(1, Ordering::Relaxed);
            let answer = answer(&request, &image);
            async { Ok(answer) }
        };
        let tls = identity.as_ref().map(Identity::acceptor);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listener = tokio::spawn(listen(listener, tls, handler));
        Self { address, scheme, requests, listener }
    }

    /// Returns a URL of the image. Each `name` gives another URL of the same bytes.
    pub fn url(&self, name: &str) -> String {
        format!("{}://{}/i/{name}/boot.iso", self.scheme, self.address)
    }

    /// Returns how many requests the server has received.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for ImageServer {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

fn answer(request: &Request<Incoming>, image: &Bytes) -> Response<Full<Bytes>> {
    let answer = Response::builder().header(ACCEPT_RANGES, "bytes");
    let range = request.headers().get(RANGE).and_then(|range| range.to_str().ok()?.strip_prefix("bytes="));
    let range = range.and_then(|range| {
        let (first, last) = range.split_once('-')?;
        Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    });
    let answer = match range {
        Some((first, last)) if first <= last && last < image.len() => {
            let part = image.slice(first..=last);
            let content = format!("bytes {first}-{last}/{}", image.len());
            answer.status(StatusCode::PARTIAL_CONTENT).header(CONTENT_RANGE, content).body(Full::new(part))
        }
        _ if request.method() == Method::HEAD => {
            answer.header(CONTENT_LENGTH, image.len()).body(Full::new(Bytes::new()))
        }
        _ => answer.body(Full::new(image.clone())),
    };
    answer.expect("a response")
}
