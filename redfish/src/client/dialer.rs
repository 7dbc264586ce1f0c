//! Connects to a BMC: DNS, TCP and TLS.
//!
//! BMCs are in a network of their own. A proxy from the environment leads to the Internet, and would see the passwords: none is used.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::{BoxError, ServiceExt as _, service_fn};

use crate::AllowedNetworks;

/// How long a connection is silent before TCP sends a keepalive probe, and the time between two probes.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// How many probes stay unanswered before TCP closes the connection.
const KEEPALIVE_PROBES: u32 = 3;
/// How long sent bytes stay unacknowledged before TCP closes the connection (`TCP_USER_TIMEOUT`).
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// A TCP connection, with or without TLS.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection to a BMC.
pub(super) type Stream = Box<dyn Io>;

/// Connects to one BMC.
pub(super) struct Dialer {
    /// The scheme, the host and the port.
    pub(super) server: Uri,
    /// Given for `https`, and only then.
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) networks: AllowedNetworks,
    /// The time limit for a connection. TCP divides it among the addresses of a name.
    pub(super) timeout: Duration,
}

impl Dialer {
    pub(super) async fn dial(&self) -> Result<Stream, BoxError> {
        let Some(tls) = &self.tls else { return Ok(Box::new(self.connect().await?)) };
        let host = self.server.host().unwrap_or_default();
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let name = ServerName::try_from(address.unwrap_or(host).to_owned())?;
        let stream = self.connect().await?;
        let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await;
        // Inside another error, a time limit that the kernel has for TCP is not taken for that of a connection.
        Ok(Box::new(Tls(stream.map_err(io::Error::other)?)))
    }

    async fn connect(&self) -> Result<TcpStream, BoxError> {
        let networks = self.networks.clone();
        let resolver = service_fn(move |name: Name| {
            let networks = networks.clone();
            // A boxed error would keep the compiler from seeing that this can be sent to another thread.
            async move { networks.resolve(name.as_str()).await.map_err(io::Error::other) }
        });
        Ok(connector(resolver, self.timeout).oneshot(self.server.clone()).await?.into_inner())
    }
}

/// A TLS connection that may end although the BMC does not announce it (`close_notify`): Python's `http.server` never does. dayone still
/// notices that an answer is cut off: by its length, by its chunks, or because its JSON is incomplete.
struct Tls(TlsStream<TcpStream>);

impl AsyncRead for Tls {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.0).poll_read(cx, buffer) {
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            read => read,
        }
    }
}

impl AsyncWrite for Tls {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Tries the addresses of a name one after the other, each for its part of the time. If a name has addresses of IPv4 and of IPv6, those
/// of the first one's kind have a start of 300 ms.
fn connector<R>(resolver: R, timeout: Duration) -> HttpConnector<R> {
    let mut connector = HttpConnector::new_with_resolver(resolver);
    connector.enforce_http(false);
    connector.set_connect_timeout(Some(timeout));
    // Otherwise, the second part of a request would wait until the BMC has acknowledged the first one.
    connector.set_nodelay(true);
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(KEEPALIVE));
    connector.set_keepalive_retries(Some(KEEPALIVE_PROBES));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    connector
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::SocketAddr;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_next_address_of_a_name_is_tried_if_one_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server: Uri = format!("http://bmc.example:{port}/").parse().unwrap();
        let addresses = |list: &'static [[u8; 4]]| {
            service_fn(move |name: Name| {
                assert_eq!(name.as_str(), "bmc.example");
                let found: Vec<SocketAddr> = list.iter().map(|address| (*address, 0).into()).collect();
                async move { Ok::<_, Infallible>(found.into_iter()) }
            })
        };
        // The kernel refuses connections to the first address.
        let resolver = addresses(&[[127, 0, 0, 2], [127, 0, 0, 1]]);
        let stream = connector(resolver, Duration::from_mins(1)).oneshot(server.clone()).await.unwrap().into_inner();
        assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
        assert!(stream.nodelay().unwrap());
        let resolver = addresses(&[[127, 0, 0, 2]]);
        assert!(connector(resolver, Duration::from_mins(1)).oneshot(server).await.is_err());
    }
}
