//! A server from which bases are fetched: with ranges, and with the failures that a test asks for.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use imagelib::digest::Digest;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A server on a port of its own.
#[derive(Clone)]
pub(crate) struct HttpSource {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// Lets a body continue that waits at [`State::pause`].
    proceed: Arc<Notify>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Where requests for a path are redirected to.
    pub(crate) redirects: BTreeMap<String, String>,
    /// Each request: its path and its `Range`.
    pub(crate) requests: Vec<(String, Option<String>)>,
    /// The connection breaks after so many bytes of the next body.
    pub(crate) cut: Option<usize>,
    /// The next body waits after so many bytes.
    pub(crate) pause: Option<usize>,
}

impl HttpSource {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let source = Self { address, state: Arc::default(), proceed: Arc::default() };
        let serving = source.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let source = serving.clone();
                // A client that goes away is no mistake.
                tokio::spawn(async move { source.answer(stream).await.ok() });
            }
        });
        source
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Serves a file, and returns its URL and its SHA-256.
    pub(crate) fn put(&self, path: &str, bytes: &[u8]) -> (String, String) {
        self.state().files.insert(path.to_owned(), bytes.to_vec());
        (self.url(path), Digest::of(bytes).to_string())
    }

    /// Lets the body that waits continue.
    pub(crate) fn proceed(&self) {
        self.proceed.notify_one();
    }

    async fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 || line == "\r\n" {
                break;
            }
            head.push(line.trim_end().to_owned());
        }
        let header = |name: &str| {
            let lines = head.iter().filter_map(|line| line.split_once(": "));
            lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
        };
        let target = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let (answer, body, cut, pause) = {
            let mut state = self.state();
            state.requests.push((path.clone(), header("range")));
            if let Some(to) = state.redirects.get(&path) {
                (format!("302 Found\r\nLocation: {to}\r\nContent-Length: 0"), vec![], None, None)
            } else if let Some(bytes) = state.files.get(&path).cloned() {
                let tag = format!("\"{}\"", Digest::of(&bytes));
                let first =
                    header("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
                let first: Option<usize> = first.filter(|_| header("if-range").is_none_or(|given| given == tag));
                let length = bytes.len();
                let (status, body) = match first {
                    Some(first) if first < length => {
                        let range = format!("Content-Range: bytes {first}-{}/{length}", length - 1);
                        (format!("206 Partial Content\r\n{range}"), bytes[first..].to_vec())
                    }
                    _ => ("200 OK".to_owned(), bytes),
                };
                let answer = format!("{status}\r\nETag: {tag}\r\nContent-Length: {}", body.len());
                (answer, body, state.cut.take(), state.pause.take())
            } else {
                ("404 Not Found\r\nContent-Length: 0".to_owned(), vec![], None, None)
            }
        };
        let head = format!("HTTP/1.1 {answer}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        let end = cut.unwrap_or(body.len());
        let middle = pause.unwrap_or(end).min(end);
        stream.write_all(&body[..middle]).await?;
        stream.flush().await?;
        if pause.is_some() {
            self.proceed.notified().await;
        }
        stream.write_all(&body[middle..end]).await?;
        stream.flush().await
    }
}
