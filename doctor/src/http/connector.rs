//! Connects to the server of a URL.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::prelude::*;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, SupportedProtocolVersion};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;

use super::certificate::{RecordingVerifier, SharedVerifier};
use super::connection::{Connection, Pace, RequestDefaults, Traffic};
use super::error::RequestError;

/// The time limit for a connection, and for its TLS handshake.
const CONNECTING: Duration = Duration::from_secs(10);

/// Size of a slow reader's receive buffer, in bytes. The server can send this much even if the reader does not read.
const SLOW_BUFFER: u32 = 8 << 10;

/// The versions and cipher suites of TLS that a client offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suites {
    /// Everything that rustls supports.
    All,
    /// TLS 1.2 with the two suites that Intel's virtual-media configures for nbdkit.
    Tls12Aes256,
    /// TLS 1.3 with AES-256.
    Tls13Aes256,
}

impl Suites {
    fn versions(self) -> Vec<&'static SupportedProtocolVersion> {
        match self {
            Self::All => vec![&TLS12, &TLS13],
            Self::Tls12Aes256 => vec![&TLS12],
            Self::Tls13Aes256 => vec![&TLS13],
        }
    }

    fn are_offered(self, suite: &str) -> bool {
        self == Self::All || suite.ends_with("AES_256_GCM_SHA384")
    }
}

/// Makes connections to the server of one URL.
#[derive(Debug)]
pub(crate) struct Connector {
    url: Url,
    verifier: Arc<SharedVerifier>,
    traffic: Arc<Traffic>,
    /// Resolved once: otherwise each connection might lead to another server.
    addresses: OnceCell<Vec<SocketAddr>>,
    /// The place of the first one that has answered. Each connection would wait for those before it.
    answering: AtomicUsize,
}

impl Connector {
    pub(crate) fn new(url: Url, verifier: Arc<SharedVerifier>, traffic: Arc<Traffic>) -> Self {
        Self { url, verifier, traffic, addresses: OnceCell::new(), answering: AtomicUsize::new(0) }
    }

    /// The same URL at this address only.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        let (verifier, traffic) = (Arc::clone(&self.verifier), Arc::clone(&self.traffic));
        let addresses = OnceCell::new_with(Some(vec![address]));
        Self { url: self.url.clone(), verifier, traffic, addresses, answering: AtomicUsize::new(0) }
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Connects as an ordinary reader.
    pub(crate) async fn connect(&self) -> Result<Connection, RequestError> {
        self.connect_as(Pace::Fast, Suites::All).await
    }

    pub(crate) async fn connect_as(&self, pace: Pace, suites: Suites) -> Result<Connection, RequestError> {
        let stream = self.tcp(pace).await?;
        let defaults = RequestDefaults {
            path: self.path(),
            host: self.host(),
            authorization: self.authorization(),
            traffic: Arc::clone(&self.traffic),
        };
        if !self.is_tls() {
            return Connection::start(stream, defaults, pace, (None, Vec::new())).await;
        }
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| RequestError::Name(host.to_owned()))?;
        let (connector, verifier) =
            tls(&self.verifier, suites).map_err(|error| RequestError::Tls(io::Error::other(error)))?;
        let stream = timeout(CONNECTING, connector.connect(name, stream))
            .await
            .map_err(|_| RequestError::Silence(CONNECTING))?
            .map_err(RequestError::Tls)?;
        Connection::start(stream, defaults, pace, (verifier.certificate(), verifier.problems())).await
    }

    /// Sends these bytes on a new connection in place of a request, and returns at most `max_bytes` bytes of the answer.
    /// Empty if the server closes the connection at once.
    pub(crate) async fn send_raw(&self, bytes: &[u8], max_bytes: usize) -> Result<Vec<u8>, RequestError> {
        let mut stream = self.tcp(Pace::Fast).await?;
        let exchange = async {
            stream.write_all(bytes).await?;
            let mut answer = Vec::new();
            (&mut stream).take(max_bytes as u64).read_to_end(&mut answer).await?;
            Ok::<_, io::Error>(answer)
        };
        match timeout(CONNECTING, exchange).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => Ok(Vec::new()),
            Ok(Err(error)) => Err(RequestError::Tls(error)),
            Err(_) => Err(RequestError::Silence(CONNECTING)),
        }
    }

    /// The addresses of the URL's host, each once.
    pub(crate) async fn addresses(&self) -> Result<&[SocketAddr], RequestError> {
        self.addresses.get_or_try_init(|| self.resolve()).await.map(Vec::as_slice)
    }

    async fn resolve(&self) -> Result<Vec<SocketAddr>, RequestError> {
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or(80);
        let found = timeout(CONNECTING, lookup_host((host, port))).await.unwrap_or_else(|elapsed| Err(elapsed.into()));
        let found = found.map_err(|error| RequestError::Resolve(host.to_owned(), error))?;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in found {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        Ok(addresses)
    }

    async fn tcp(&self, pace: Pace) -> Result<TcpStream, RequestError> {
        let mut last = (self.host(), io::Error::from(io::ErrorKind::NotFound));
        let first = self.answering.load(Ordering::Relaxed);
        for (place, &address) in self.addresses().await?.iter().enumerate().skip(first) {
            let connected = timeout(CONNECTING, open(address, pace)).await;
            match connected.unwrap_or_else(|elapsed| Err(elapsed.into())) {
                Ok(stream) => {
                    self.answering.store(place, Ordering::Relaxed);
                    return Ok(stream);
                }
                Err(error) => last = (address.to_string(), error),
            }
        }
        Err(RequestError::Connect(last.0, last.1))
    }

    fn path(&self) -> String {
        let query = self.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", self.url.path())
    }

    /// The `Host` header, with the port unless it is the scheme's default.
    pub(crate) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The `Authorization` header that clients make from the user and the password in a URL.
    fn authorization(&self) -> Option<String> {
        let (user, password) = (self.url.username(), self.url.password().unwrap_or_default());
        if user.is_empty() && password.is_empty() {
            return None;
        }
        Some(format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))))
    }
}

async fn open(address: SocketAddr, pace: Pace) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if pace == Pace::Slow {
        // Must come before connecting, because it determines the window that the server sees.
        socket.set_recv_buffer_size(SLOW_BUFFER)?;
    }
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn tls(
    verifier: &Arc<SharedVerifier>,
    suites: Suites,
) -> Result<(TlsConnector, Arc<RecordingVerifier>), rustls::Error> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.cipher_suites.retain(|known| suites.are_offered(&format!("{:?}", known.suite())));
    let provider = Arc::new(provider);
    let verifier = Arc::new(RecordingVerifier::new(Arc::clone(verifier), Arc::clone(&provider)));
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(&suites.versions())?;
    let mut config =
        config.dangerous().with_custom_certificate_verifier(Arc::clone(&verifier) as Arc<_>).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsConnector::from(Arc::new(config)), verifier))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_first_address_that_has_answered_is_kept() {
        let [silent, answering] =
            [TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap()];
        let addresses = [silent.local_addr().unwrap(), answering.local_addr().unwrap()];
        drop(silent);
        let new = Connector::new("http://both.example/".parse().unwrap(), Arc::default(), Arc::default());
        let connector = Connector { addresses: OnceCell::new_with(Some(addresses.to_vec())), ..new };
        let peer = async || connector.tcp(Pace::Fast).await.unwrap().peer_addr().unwrap();
        assert_eq!(peer().await, addresses[1]);
        let _now_answering = TcpListener::bind(addresses[0]).await.unwrap();
        assert_eq!(peer().await, addresses[1]);
    }
}
