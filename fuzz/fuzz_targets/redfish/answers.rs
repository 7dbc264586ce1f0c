//! The answers of a BMC, from the parts of an input.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;

/// More requests than any sequence of steps needs.
const MAX_REQUESTS: u64 = 600;

/// The parts of the input.
fn split(data: &[u8]) -> Vec<&[u8]> {
    const END: &[u8] = b"%%\n";
    let mut parts = Vec::new();
    let mut rest = data;
    while let Some(at) = rest.windows(END.len()).position(|window| window == END) {
        parts.push(&rest[..at]);
        rest = &rest[at + END.len()..];
    }
    parts.push(rest);
    parts
}

pub(crate) struct Answers {
    /// Each is a line with the status, lines with headers, an empty line and a body; or else sent as it is. Behind the status may be
    /// a path: this is then the answer to reads of it, and to nothing else.
    answers: Vec<Vec<u8>>,
    next: AtomicU64,
}

impl Answers {
    pub(crate) fn of(input: &[u8]) -> Self {
        Self { answers: split(input).into_iter().map(<[u8]>::to_vec).collect(), next: AtomicU64::new(0) }
    }

    fn answer(&self, head: &str, number: u64) -> &[u8] {
        let path_of = |answer: &[u8]| {
            let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let path = line.get(4..).unwrap_or_default().strip_prefix(b"/").unwrap_or_default();
            (!path.is_empty()).then(|| format!("/{}", String::from_utf8_lossy(path).to_ascii_lowercase()))
        };
        let asked =
            head.strip_prefix("get ").and_then(|head| head.split(' ').next()).map(|path| path.trim_end_matches('/'));
        let found = self.answers.iter().find(|answer| asked.is_some() && path_of(answer).as_deref() == asked);
        let others: Vec<&Vec<u8>> = self.answers.iter().filter(|answer| path_of(answer).is_none()).collect();
        match (found, others.len() as u64) {
            (Some(answer), _) => answer,
            (None, 0) => b"404\n\n{}",
            (None, count) => others[usize::try_from(number % count).expect("small")],
        }
    }

    pub(crate) async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufStream::new(stream);
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await?);
            }
            let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut body).await?;
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            assert!(number < MAX_REQUESTS, "an endless exchange");
            let answer = self.answer(&head, number);
            match answer.iter().position(|byte| *byte == b'\n') {
                Some(end) if end >= 3 && answer[..3].iter().all(u8::is_ascii_digit) => {
                    let rest = &answer[end + 1..];
                    let (headers, body) = match rest.windows(2).position(|window| window == b"\n\n") {
                        Some(at) => (&rest[..=at], &rest[at + 2..]),
                        None => (&b""[..], rest),
                    };
                    stream.write_all(b"HTTP/1.1 ").await?;
                    stream.write_all(&answer[..3]).await?;
                    stream.write_all(b" X\r\n").await?;
                    stream.write_all(headers).await?;
                    stream.write_all(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes()).await?;
                    stream.write_all(body).await?;
                    stream.flush().await?;
                }
                _ => {
                    stream.write_all(answer).await?;
                    return stream.flush().await;
                }
            }
        }
    }
}
