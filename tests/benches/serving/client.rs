//! Clients that read and throw away what they get: the kernel does not copy it (`MSG_TRUNC`), so that they are not slower than the
//! servers. Over TLS, they must decrypt it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, recv};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::Outcome;
use crate::servers::Peer;

/// What each connection asks for.
#[derive(Clone, Copy)]
pub(crate) enum Requests {
    /// The whole file, so often.
    Whole {
        each: u64,
    },
    /// Ranges of a length, from all over the file.
    Ranges {
        length: u64,
        each: u64,
    },
    Heads {
        each: u64,
    },
}

impl Requests {
    /// How many bytes and requests all connections together make.
    pub(crate) fn amount(self, connections: usize, size: u64) -> (u64, u64) {
        let connections = connections as u64;
        match self {
            Self::Whole { each } => (connections * each * size, connections * each),
            Self::Ranges { length, each } => (connections * each * length, connections * each),
            Self::Heads { each } => (0, connections * each),
        }
    }
}

/// A client of one server.
pub(crate) struct Client<'a> {
    peer: &'a Peer,
    size: u64,
    tls: Option<Arc<ClientConfig>>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(peer: &'a Peer, size: u64) -> Outcome<Self> {
        let tls = match &peer.certificate {
            None => None,
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(pem.as_bytes())?)?;
                let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
                let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
                Some(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
            }
        };
        Ok(Self { peer, size, tls })
    }

    /// Runs connections side by side.
    pub(crate) fn run(&self, connections: usize, requests: Requests) -> Outcome<()> {
        thread::scope(|scope| {
            let all: Vec<_> = (0..connections)
                .map(|number| {
                    let work = move || self.one(number as u64, requests);
                    thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, work)
                })
                .collect::<Result<_, _>>()?;
            all.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a client panicked")?)
        })
    }

    fn one(&self, number: u64, requests: Requests) -> Outcome<()> {
        let mut connection = self.connect()?;
        match requests {
            Requests::Whole { each } => (0..each).try_for_each(|_| self.ask(&mut connection, "GET", "")),
            Requests::Heads { each } => (0..each).try_for_each(|_| self.ask(&mut connection, "HEAD", "")),
            Requests::Ranges { length, each } => {
                // The same places for every server, all over the file.
                let places = self.size / length - 1;
                let mut place = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (0..each).try_for_each(|_| {
                    place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let first = (place >> 33) % places * length;
                    let range = format!("Range: bytes={first}-{}\r\n", first + length - 1);
                    self.ask(&mut connection, "GET", &range)
                })
            }
        }
    }

    /// The 99th percentile of the time of a HEAD while others download.
    pub(crate) fn head_beside_downloads(&self, downloads: usize) -> Outcome<Duration> {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let readers: Vec<_> = (0..downloads)
                .map(|_| {
                    scope.spawn(|| -> Outcome<()> {
                        let mut connection = self.connect()?;
                        while !over.load(Ordering::Relaxed) {
                            self.ask(&mut connection, "GET", "Range: bytes=0-67108863\r\n")?;
                        }
                        Ok(())
                    })
                })
                .collect();
            thread::sleep(Duration::from_millis(200));
            let mut connection = self.connect()?;
            let mut times = Vec::new();
            let end = Instant::now() + Duration::from_secs(3);
            while Instant::now() < end {
                let begun = Instant::now();
                self.ask(&mut connection, "HEAD", "")?;
                times.push(begun.elapsed());
                thread::sleep(Duration::from_millis(2));
            }
            over.store(true, Ordering::Relaxed);
            readers.into_iter().try_for_each(|reader| reader.join().map_err(|_| "a reader panicked")?)?;
            times.sort();
            Ok(times[times.len() * 99 / 100])
        })
    }

    fn connect(&self) -> Outcome<Connection> {
        let stream = TcpStream::connect(&self.peer.address)?;
        stream.set_nodelay(true)?;
        let Some(config) = &self.tls else { return Ok(Connection::Plain(stream)) };
        let name = ServerName::try_from("127.0.0.1")?;
        Ok(Connection::Tls(Box::new(StreamOwned::new(ClientConnection::new(Arc::clone(config), name)?, stream))))
    }

    fn ask(&self, connection: &mut Connection, method: &str, more: &str) -> Outcome<()> {
        let Peer { path, address, .. } = self.peer;
        connection.write(format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n{more}\r\n").as_bytes())?;
        let (mut head, mut filled) = ([0; 4096], 0);
        let end = loop {
            let count = connection.read(&mut head[filled..])?;
            assert!(count > 0, "the server has closed the connection");
            filled += count;
            if let Some(end) = head[..filled].windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = std::str::from_utf8(&head[..end])?.to_ascii_lowercase();
        let status = text.get(9..12).unwrap_or_default();
        assert!(status == if more.is_empty() { "200" } else { "206" }, "{text}");
        if method == "HEAD" {
            return Ok(());
        }
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).ok_or("Content-Length")?;
        connection.skip(length.trim().parse::<usize>()? - (filled - end))
    }
}

enum Connection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Connection {
    fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        match self {
            Self::Plain(stream) => stream.write_all(bytes)?,
            Self::Tls(stream) => stream.write_all(bytes)?,
        }
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Outcome<usize> {
        Ok(match self {
            Self::Plain(stream) => stream.read(buffer)?,
            Self::Tls(stream) => stream.read(buffer)?,
        })
    }

    fn skip(&mut self, mut rest: usize) -> Outcome<()> {
        let mut buffer = vec![0; rest.min(1 << 20)];
        while rest > 0 {
            let room = rest.min(buffer.len());
            let count = match self {
                Self::Plain(stream) => recv(&*stream, &mut buffer[..room], RecvFlags::TRUNC)?.1,
                Self::Tls(stream) => stream.read(&mut buffer[..room])?,
            };
            assert!(count > 0, "the server has closed the connection early");
            rest -= count;
        }
        Ok(())
    }
}
