//! A client with one connection that it keeps, over TCP or TLS. It hands on what arrives at once, so that every byte is compared
//! even if the connection breaks later.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// Where a server is, and how to speak to it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

pub(crate) struct Connection {
    stream: BufReader<Box<dyn Stream>>,
    /// Whether it has had an answer already.
    pub(crate) is_used: bool,
}

/// The beginning of an answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) length: u64,
    pub(crate) range: Option<String>,
    pub(crate) etag: Option<String>,
    pub(crate) closes: bool,
}

impl Target {
    pub(crate) fn connect(&self) -> io::Result<Connection> {
        let socket = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match &self.tls {
            None => Box::new(socket),
            Some(config) => Box::new(StreamOwned::new(session(config)?, socket)),
        };
        Ok(Connection { stream: BufReader::with_capacity(64 << 10, stream), is_used: false })
    }

    /// The certificate that the server shows; none over plain HTTP.
    pub(crate) fn certificate(&self) -> io::Result<Option<CertificateDer<'static>>> {
        let Some(config) = &self.tls else { return Ok(None) };
        let mut socket = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut session = session(config)?;
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        Ok(session.peer_certificates().and_then(|chain| chain.first()).cloned().map(CertificateDer::into_owned))
    }
}

fn session(config: &Arc<ClientConfig>) -> io::Result<ClientConnection> {
    let name = ServerName::IpAddress(std::net::Ipv4Addr::LOCALHOST.into());
    ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)
}

impl Connection {
    /// Sends a request, and reads the beginning of its answer.
    pub(crate) fn request(&mut self, method: &str, path: &str, range: Option<(u64, u64)>) -> io::Result<Answer> {
        let range = range.map(|(first, last)| format!("Range: bytes={first}-{last}\r\n")).unwrap_or_default();
        let request = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{range}\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.stream.get_mut().flush()?;
        let mut answer = Answer { status: 0, length: 0, range: None, etag: None, closes: false };
        loop {
            let mut line = String::new();
            if self.stream.by_ref().take(16 << 10).read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if answer.status == 0 {
                let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
                answer.status = status.ok_or_else(|| io::Error::other(format!("not a status line: {line}")))?;
                continue;
            }
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => answer.length = value.parse().map_err(io::Error::other)?,
                "content-range" => answer.range = Some(value.to_owned()),
                "etag" => answer.etag = Some(value.to_owned()),
                "connection" => answer.closes = value.eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
        self.is_used = true;
        Ok(answer)
    }

    /// Reads a body of `length` bytes, and calls `each` with every piece of it. Stops when that returns `false`.
    pub(crate) fn body(&mut self, length: u64, mut each: impl FnMut(u64, &[u8]) -> bool) -> io::Result<()> {
        let (mut done, mut buffer) = (0, vec![0; 64 << 10]);
        while done < length {
            let most = usize::try_from(length - done).unwrap_or(usize::MAX).min(buffer.len());
            let count = self.stream.read(&mut buffer[..most])?;
            if count == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{done} of {length} bytes")));
            }
            if !each(done, &buffer[..count]) {
                return Ok(());
            }
            done += count as u64;
        }
        Ok(())
    }
}
