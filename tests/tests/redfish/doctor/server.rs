//! A small HTTP server that does things wrong as it is told to.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What was asked.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub version: String,
    headers: Vec<(String, String)>,
    /// How many requests the server had before.
    pub number: u64,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn forget(&mut self, name: &str) {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    }

    /// A single range of these bytes that the request asks for.
    fn range(&self, size: usize) -> Option<Range<usize>> {
        match self.header("range")?.strip_prefix("bytes=")?.split_once('-')? {
            ("", suffix) => Some(size.saturating_sub(suffix.parse().ok()?)..size),
            (first, "") => Some(first.parse().ok()?..size),
            (first, last) => Some(first.parse().ok()?..last.parse::<usize>().ok()?.saturating_add(1).min(size)),
        }
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the connection is closed afterwards.
    pub close: bool,
    /// The longest that the body may take.
    pub limit: Option<Duration>,
}

impl Reply {
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// The whole file in place of a part.
    pub fn into_whole(self, image: &[u8]) -> Self {
        let reply = self.without("content-range").with("Content-Length", &image.len().to_string());
        Self { status: 200, body: image.to_vec(), ..reply }
    }

    pub fn with(self, name: &str, value: &str) -> Self {
        let mut reply = self.without(name);
        reply.headers.push((name.to_owned(), value.to_owned()));
        reply
    }
}

/// The answer of a server that does everything right.
pub fn right(request: &Request, image: &[u8]) -> Reply {
    let headers = [
        ("Accept-Ranges", "bytes"),
        ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("ETag", "\"one\""),
        ("Content-Type", "application/octet-stream"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let whole = |status, body: &[u8]| {
        let reply = Reply { status, headers: headers.clone(), body: body.to_vec(), close: false, limit: None };
        reply.with("Content-Length", &body.len().to_string())
    };
    let size = image.len();
    let conditional = request.header("if-range").is_none_or(|tag| tag == "\"one\"");
    match request.range(size).filter(|_| request.method == "GET" && conditional) {
        None => whole(200, image),
        Some(range) if range.start >= size => whole(416, b"").with("Content-Range", &format!("bytes */{size}")),
        Some(range) => {
            let told = format!("bytes {}-{}/{size}", range.start, range.end - 1);
            whole(206, &image[range]).with("Content-Range", &told)
        }
    }
}

type Behaviour = dyn Fn(&Request, &[u8]) -> Reply + Send + Sync;

/// Serves until dropped.
pub struct Server {
    address: String,
    stopped: Arc<AtomicBool>,
}

impl Server {
    /// Serves the file as `behaviour` has it; connections on which nothing is asked for `idle` are closed.
    pub fn start(
        image: &Path,
        idle: Duration,
        behaviour: impl Fn(&Request, &[u8]) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let image: Arc<Vec<u8>> = Arc::new(fs::read(image).expect("the image"));
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let stopped = Arc::new(AtomicBool::new(false));
        let asked = Arc::new(AtomicU64::new(0));
        let stop = Arc::clone(&stopped);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let (image, behaviour, asked) = (Arc::clone(&image), Arc::clone(&behaviour), Arc::clone(&asked));
                // How a connection ends is the client's to judge.
                std::thread::spawn(move || drop(serve(stream, idle, &image, &*behaviour, &asked)));
            }
        });
        Self { address, stopped }
    }

    pub fn url(&self) -> String {
        format!("http://{}/i/boot.iso", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(&self.address);
    }
}

fn serve(stream: TcpStream, idle: Duration, image: &[u8], behaviour: &Behaviour, asked: &AtomicU64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(idle))?;
    stream.set_write_timeout(Some(Duration::from_secs(60)))?;
    // What the kernel holds back would hide from a slow reader that the server gave up.
    rustix::net::sockopt::set_socket_send_buffer_size(&stream, 16 << 10)?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut stream = stream;
    loop {
        let Some(first) = lines.next().transpose()? else { return Ok(()) };
        let mut words = first.split(' ').map(str::to_owned);
        let (method, _, version) = (words.next(), words.next(), words.next());
        let mut headers = Vec::new();
        for line in lines.by_ref() {
            match line?.split_once(": ") {
                Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
                None => break,
            }
        }
        let number = asked.fetch_add(1, Ordering::Relaxed);
        let (method, version) = (method.unwrap_or_default(), version.unwrap_or_default());
        let request = Request { method, version, headers, number };
        let reply = behaviour(&request, image);
        let mut head = format!("HTTP/1.1 {} Reason\r\n", reply.status);
        for (name, value) in &reply.headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        let begun = Instant::now();
        if request.method != "HEAD" {
            for part in reply.body.chunks(4096) {
                if reply.limit.is_some_and(|limit| begun.elapsed() > limit) {
                    return Ok(());
                }
                stream.write_all(part)?;
            }
        }
        if reply.close || request.version == "HTTP/1.0" {
            return Ok(());
        }
    }
}
