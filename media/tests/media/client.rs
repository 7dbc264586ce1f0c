//! An HTTP client that sends exactly what a test gives it, and shows the whole answer.

use std::collections::HashMap;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// An answer as it came.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value)
    }
}

/// A connection on which requests follow each other.
pub(crate) struct Client<S> {
    pub(crate) stream: S,
    unread: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, unread: vec![] }
    }

    pub(crate) async fn send(&mut self, request: &str) {
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    /// Sends a request of HTTP/1.1 with these further lines and reads the answer.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, lines: &[&str]) -> Answer {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: bmc");
        self.send(&([&[&*head], lines, &["\r\n"]].concat().join("\r\n"))).await;
        self.answer(method == "HEAD").await.unwrap()
    }

    /// The head of the next answer; its body is still to be read.
    pub(crate) async fn head(&mut self) -> io::Result<Answer> {
        let end = loop {
            match self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(end) => break end + 4,
                None => self.more().await?,
            }
        };
        let rest = self.unread.split_off(end);
        let head = String::from_utf8(std::mem::replace(&mut self.unread, rest)).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Ok(Answer { status, headers, head, body: vec![] })
    }

    /// The next answer. That the connection ends before the body does is an error.
    pub(crate) async fn answer(&mut self, headless: bool) -> io::Result<Answer> {
        let mut answer = self.head().await?;
        if !headless && ![204, 304].contains(&answer.status) {
            answer.body = self.body(answer.header("content-length").parse().unwrap()).await?;
        }
        Ok(answer)
    }

    /// So many bytes.
    pub(crate) async fn body(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.unread.len() < length {
            self.more().await?;
        }
        let rest = self.unread.split_off(length);
        Ok(std::mem::replace(&mut self.unread, rest))
    }

    /// What comes until the connection ends, however it ends.
    pub(crate) async fn rest(mut self) -> Vec<u8> {
        while self.more().await.is_ok() {}
        self.unread
    }

    /// Whether the server has closed the connection, having sent nothing more.
    pub(crate) async fn ended(&mut self) -> bool {
        self.unread.is_empty() && self.more().await.is_err()
    }

    async fn more(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        match self.stream.read(&mut buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.unread.extend_from_slice(&buffer[..count]);
                Ok(())
            }
        }
    }
}
