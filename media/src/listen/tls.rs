//! TLS 1.2 and 1.3 by rustls. Clients that support only TLS 1.0, 1.1 or CBC suites need the listener for plain HTTP.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::crypto::CryptoProvider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::{self, PemObject as _};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{Accept, TlsAcceptor};
use tokio_util::sync::CancellationToken;
use x509_parser::parse_x509_certificate;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::X509Version;

use crate::base_file::Fingerprint;

/// The time between two checks of the files. A renewed certificate is in use after at most this time.
pub(super) const RELOAD: Duration = Duration::from_secs(10);

/// Maximum number of bytes that rustls buffers before it writes them to the socket. The head of an answer and a piece of its body fit, which
/// has at most 64 KiB. By rustls's default of 64 KiB, the end of the piece would need a write and a packet of its own.
const TAKEN_AT_ONCE: usize = (64 << 10) + (2 << 10);

/// The shortest RSA key that rustls signs with, in bits.
const SHORTEST_RSA: usize = 2048;

/// Why a certificate and its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificates cannot be read.
    #[error("TLS certificate file {}: {source}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rustls_pki_types::pem::Error,
    },
    /// The key cannot be read.
    #[error("TLS key file {}: {}", path.display(), missing_pem(source, "PRIVATE KEY"))]
    Key {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rustls_pki_types::pem::Error,
    },
    /// The certificates of authorities of clients cannot be read.
    #[error("file {} of the authorities of client certificates: {source}", path.display())]
    ClientAuthority {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rustls_pki_types::pem::Error,
    },
    /// The certificates of authorities of clients cannot be used.
    #[error("file {} of the authorities of client certificates: {reason}", path.display())]
    UnusableClientAuthority {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The certificate is not X.509 version 3.
    #[error("TLS certificate {}: it is not X.509 version 3, and rustls, the TLS of dayone, uses no other", _0.display())]
    OldCertificate(PathBuf),
    /// The certificate has a short RSA key.
    #[error(
        "TLS certificate {}: its RSA key has {bits} bits, and rustls, the TLS of dayone, uses none of less than {SHORTEST_RSA}",
        certificate.display()
    )]
    ShortKey {
        /// The certificates' file.
        certificate: PathBuf,
        /// The length of the key in bits.
        bits: usize,
    },
    /// The files can be read, but not used, for example because the key belongs to another certificate.
    #[error("TLS certificate {} with key {}: {source}", certificate.display(), key.display())]
    Unusable {
        /// The certificates' file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The reason.
        source: rustls::Error,
    },
}

impl TlsError {
    /// The files can be read, but not used. Says what is known of the certificate, because rustls calls a short key one of an unknown
    /// kind.
    fn unusable(source: rustls::Error, files: [&Path; 2], own: Option<&CertificateDer<'_>>) -> Self {
        let [certificate, key] = files.map(Path::to_owned);
        let Some((_, read)) = own.and_then(|own| parse_x509_certificate(own).ok()) else {
            return Self::Unusable { certificate, key, source };
        };
        if read.version() != X509Version::V3 {
            return Self::OldCertificate(certificate);
        }
        match read.public_key().parsed() {
            Ok(public @ PublicKey::RSA(_)) if public.key_size() < SHORTEST_RSA => {
                Self::ShortKey { certificate, bits: public.key_size() }
            }
            _ => Self::Unusable { certificate, key, source },
        }
    }
}

/// The reason why a PEM file cannot be read. If it is that the file has nothing of this kind, says so.
pub fn missing_pem(error: &pem::Error, kind: &str) -> String {
    match error {
        pem::Error::NoItemsFound => format!("it has no line that begins with -----BEGIN {kind}-----"),
        other => other.to_string(),
    }
}

/// A certificate and its key, from files that are read again when they change. Clones share them.
#[derive(Clone)]
pub struct Tls(Arc<Files>);

struct Files {
    certificate: PathBuf,
    key: PathBuf,
    /// The authorities that sign the certificates of clients. If there is a file, every client needs such a certificate.
    client_authorities: Option<PathBuf>,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    config: Arc<ServerConfig>,
    files: [Option<Fingerprint>; 3],
    /// Is cancelled when other authorities replace those of this configuration.
    replaced: CancellationToken,
}

impl Tls {
    /// Reads PEM files: the certificates, the server's own first, and its private key (PKCS #8, PKCS #1 or SEC 1).
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        Self::new(certificate, key, None)
    }

    /// The same, for clients that have a certificate of an authority in the PEM file `authorities`. Other clients are refused during
    /// the handshake.
    pub fn for_clients_of(certificate: &Path, key: &Path, authorities: &Path) -> Result<Self, TlsError> {
        Self::new(certificate, key, Some(authorities))
    }

    fn new(certificate: &Path, key: &Path, authorities: Option<&Path>) -> Result<Self, TlsError> {
        let files = [Some(certificate), Some(key), authorities].map(|path| path.and_then(fingerprint));
        let config = load(certificate, key, authorities)?;
        let loaded = Mutex::new(Loaded { config, files, replaced: CancellationToken::new() });
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        let client_authorities = authorities.map(Path::to_owned);
        Ok(Self(Arc::new(Files { certificate, key, client_authorities, loaded })))
    }

    /// Whether clients need a certificate.
    pub fn requires_certificates(&self) -> bool {
        self.0.client_authorities.is_some()
    }

    /// Begins a handshake, with the last usable content of the files.
    pub(super) fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> Accept<S> {
        self.acceptor().accept_with(stream, |session| session.set_buffer_limit(Some(TAKEN_AT_ONCE)))
    }

    /// An acceptor with the last usable content of the files.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0.loaded.lock().config))
    }

    /// Is cancelled when other authorities replace those that vouch for the clients of new connections. Ask for it before you
    /// [`accept`](Self::accept).
    pub(super) fn replaced(&self) -> CancellationToken {
        self.0.loaded.lock().replaced.clone()
    }

    /// Ends the connections of clients for which the successor's authorities may not vouch.
    pub(super) fn replace_by(&self, successor: &Self) {
        if Arc::ptr_eq(&self.0, &successor.0) {
            return;
        }
        let [_, _, authorities] = successor.0.loaded.lock().files;
        let loaded = self.0.loaded.lock();
        if authorities != loaded.files[2] {
            loaded.replaced.cancel();
        }
    }

    /// Reads the files again if they have changed. On another thread, because their file system may be slow.
    pub(super) async fn renew(&self) {
        let files = Arc::clone(&self.0);
        // Fails only if the work panics; the panic hook has logged where.
        let _ = tokio::task::spawn_blocking(move || files.reload()).await;
    }
}

impl Files {
    fn reload(&self) {
        let authorities = self.client_authorities.as_deref();
        let files = [Some(&*self.certificate), Some(&*self.key), authorities].map(|path| path.and_then(fingerprint));
        let known = self.loaded.lock().files;
        let read = (files != known).then(|| load(&self.certificate, &self.key, authorities));
        match read {
            Some(Ok(config)) => {
                tracing::info!(certificate = %self.certificate.display(), "loaded the changed TLS certificate");
                let mut loaded = self.loaded.lock();
                if files[2] != known[2] {
                    std::mem::take(&mut loaded.replaced).cancel();
                }
                (loaded.config, loaded.files) = (config, files);
            }
            // Keeps the old fingerprints, so that the files are read again: the other file may not be written yet.
            Some(Err(error)) => {
                tracing::error!(%error, "cannot load the changed TLS certificate; the previous one remains in use");
            }
            None => {}
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("certificate", &self.0.certificate).field("key", &self.0.key).finish()
    }
}

/// Changes whenever the file does. Its modification time does not: every file of a Nix store or an `OSTree` has the same one.
fn fingerprint(path: &Path) -> Option<Fingerprint> {
    fs::metadata(path).ok().map(|metadata| Fingerprint::of(&metadata, metadata.len()))
}

fn load(certificate: &Path, key: &Path, authorities: Option<&Path>) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| TlsError::Certificate { path: certificate.to_owned(), source })?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|source| TlsError::Key { path: key.to_owned(), source })?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = match authorities {
        None => WebPkiClientVerifier::no_client_auth(),
        Some(path) => client_verifier(path, Arc::clone(&provider))?,
    };
    let own = chain.first().cloned();
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS12, &TLS13])
        .and_then(|builder| builder.with_client_cert_verifier(verifier).with_single_cert(chain, private));
    let mut config = config.map_err(|source| TlsError::unusable(source, [certificate, key], own.as_ref()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if authorities.is_some() {
        // A session that is resumed skips the verification of the chain, such as of an intermediate authority that has expired.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(Arc::new(config))
}

/// Verifies that an authority in a file has signed the certificate of a client.
fn client_verifier(path: &Path, provider: Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let unusable = |reason: String| TlsError::UnusableClientAuthority { path: path.to_owned(), reason };
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|source| TlsError::ClientAuthority { path: path.to_owned(), source })?;
    let mut roots = RootCertStore::empty();
    for certificate in read {
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    verifier.map_err(|error| unusable(error.to_string()))
}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

#[cfg(test)]
mod tests;
