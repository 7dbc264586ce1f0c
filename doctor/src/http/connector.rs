//! From a URL to a connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::prelude::*;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, SupportedProtocolVersion};
use rustls_pki_types::ServerName;
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;

use super::certificate::{Judge, Trust};
use super::{Connection, Trouble};

/// How long connecting, and TLS on top of it, may take.
const CONNECTING: Duration = Duration::from_secs(10);

/// The receive buffer of a reader that is slow: what lies in it moves on without the reader.
const SLOW_BUFFER: u32 = 8 << 10;

/// Whether a connection reads as fast as it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Fast,
    Slow,
}

/// What a client offers for TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suites {
    /// All there is.
    All,
    /// TLS 1.2, and the two suites that Intel's virtual-media asks nbdkit for.
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

/// How many requests were sent, and how many bytes of bodies came.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Traffic {
    pub(super) fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// Makes connections to the server of one URL.
#[derive(Debug)]
pub(crate) struct Connector {
    url: Url,
    trust: Trust,
    traffic: Arc<Traffic>,
}

impl Connector {
    pub(crate) fn new(url: Url, trust: Trust, traffic: Arc<Traffic>) -> Self {
        Self { url, trust, traffic }
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// A connection of a reader without peculiarities.
    pub(crate) async fn connect(&self) -> Result<Connection, Trouble> {
        self.connect_as(Pace::Fast, Suites::All).await
    }

    pub(crate) async fn connect_as(&self, pace: Pace, suites: Suites) -> Result<Connection, Trouble> {
        let stream = self.tcp(pace).await?;
        let asking = Asking {
            path: self.path(),
            host: self.host(),
            authorization: self.authorization(),
            traffic: Arc::clone(&self.traffic),
        };
        if !self.is_tls() {
            return Connection::start(stream, asking, pace, None).await;
        }
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| Trouble::Name(host.to_owned()))?;
        let (connector, judge) = tls(&self.trust, suites).map_err(|error| Trouble::Tls(io::Error::other(error)))?;
        let stream = timeout(CONNECTING, connector.connect(name, stream))
            .await
            .map_err(|_| Trouble::Silence(CONNECTING))?
            .map_err(Trouble::Tls)?;
        Connection::start(stream, asking, pace, judge.judgement()).await
    }

    async fn tcp(&self, pace: Pace) -> Result<TcpStream, Trouble> {
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or(80);
        let found = timeout(CONNECTING, lookup_host((host, port))).await.unwrap_or_else(|elapsed| Err(elapsed.into()));
        let addresses = found.map_err(|error| Trouble::Resolve(host.to_owned(), error))?;
        let mut last = (format!("{host}:{port}"), io::Error::from(io::ErrorKind::NotFound));
        for address in addresses {
            let connected = timeout(CONNECTING, open(address, pace)).await;
            match connected.unwrap_or_else(|elapsed| Err(elapsed.into())) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = (address.to_string(), error),
            }
        }
        Err(Trouble::Connect(last.0, last.1))
    }

    fn path(&self) -> String {
        let query = self.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", self.url.path())
    }

    /// What clients write into `Host`: with the port where it is not the scheme's own.
    pub(crate) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// As clients do with the user and password of a URL.
    fn authorization(&self) -> Option<String> {
        let (user, password) = (self.url.username(), self.url.password().unwrap_or_default());
        if user.is_empty() && password.is_empty() {
            return None;
        }
        Some(format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))))
    }
}

/// What the requests on a connection have in common.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) path: String,
    pub(super) host: String,
    pub(super) authorization: Option<String>,
    pub(super) traffic: Arc<Traffic>,
}

async fn open(address: SocketAddr, pace: Pace) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if pace == Pace::Slow {
        // Before connecting: the window that the server sees follows from it.
        socket.set_recv_buffer_size(SLOW_BUFFER)?;
    }
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn tls(trust: &Trust, suites: Suites) -> Result<(TlsConnector, Arc<Judge>), rustls::Error> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.cipher_suites.retain(|known| suites.are_offered(&format!("{:?}", known.suite())));
    let provider = Arc::new(provider);
    let judge = Arc::new(Judge::new(trust, Arc::clone(&provider)));
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(&suites.versions())?;
    let mut config =
        config.dangerous().with_custom_certificate_verifier(Arc::clone(&judge) as Arc<_>).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((TlsConnector::from(Arc::new(config)), judge))
}
