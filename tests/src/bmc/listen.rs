//! Listening, with TLS or without. A handler may close the connection in place of answering, which is why this is
//! hyper and no framework above it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A self-signed certificate with its key.
pub struct Identity {
    acceptor: TlsAcceptor,
    pem: String,
}

impl Identity {
    /// Makes a certificate for an address or a name, such as `127.0.0.1`.
    pub fn of(name: &str) -> Self {
        let issued = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![issued.cert.der().clone()], key)
            .expect("a certificate and its key");
        Self { acceptor: TlsAcceptor::from(Arc::new(config)), pem: issued.cert.pem() }
    }

    /// Returns the certificate in the form of a CA file.
    pub fn pem(&self) -> &str {
        &self.pem
    }
}

/// The handler closes the connection without an answer.
#[derive(Debug)]
pub struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("dropped on purpose")
    }
}

impl std::error::Error for Dropped {}

/// Answers requests until the future is dropped, which closes every connection.
pub(crate) async fn listen<F, A>(listener: TcpListener, tls: Option<TlsAcceptor>, handler: F)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Result<Response<Full<Bytes>>, Dropped>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (tls, handler) = (tls.clone(), handler.clone());
        connections.spawn(async move {
            // A client that closes a connection, or does not like the certificate, is no concern of the server.
            let _ = stream.set_nodelay(true);
            let _ = match tls {
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => serve(stream, handler).await,
                    Err(error) => Err(error),
                },
                None => serve(stream, handler).await,
            };
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve<S, F, A>(stream: S, handler: F) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Fn(Request<Incoming>) -> A + Send + 'static,
    A: Future<Output = Result<Response<Full<Bytes>>, Dropped>> + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new());
    builder.serve_connection(TokioIo::new(stream), service_fn(handler)).await.map_err(io::Error::other)
}

impl Identity {
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }
}
