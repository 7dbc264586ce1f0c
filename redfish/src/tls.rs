//! Verifies a BMC's certificate, with TLS 1.2 and 1.3 by rustls.
//!
//! Most BMCs come with a certificate that they signed themselves, often without a subject alternative name. A file of
//! certificates therefore does two things. As usual, a certificate in it may have signed the BMC's certificate. And a
//! BMC whose own certificate is in the file is trusted under any name, even if the certificate has expired. rustls must
//! still be able to verify the handshake's signature with it: X.509 version 3, and no RSA key of less than 2048 bits.

mod short_key;

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::version::{TLS12, TLS13};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use self::short_key::ShortKey;
use crate::RedfishError;
use crate::causes::causes;

/// Certificates by which BMCs are trusted: those of authorities, or BMCs' own. At least one.
#[derive(Clone)]
pub struct Certificates(Arc<Listed>);

struct Listed {
    certificates: Arc<[CertificateDer<'static>]>,
    /// Made once for all BMCs, because there may be thousands, and it has a copy of each authority.
    verifier: OnceLock<Arc<Verifier>>,
}

impl PartialEq for Certificates {
    fn eq(&self, other: &Self) -> bool {
        self.0.certificates == other.0.certificates
    }
}

impl Eq for Certificates {}

/// How a BMC's certificate is verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Verification {
    /// By the certificate authorities that this system trusts, read once for the whole process.
    #[default]
    System,
    /// By these certificates, and no others.
    CaFile(Certificates),
    /// Not at all. Anyone who answers at the BMC's address gets the password.
    Disabled,
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificatesError {
    /// The file cannot be read, or is not PEM.
    #[error("cannot read the certificates in {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rustls_pki_types::pem::Error,
    },
    /// The text is not PEM.
    #[error("the certificates are not PEM: {0}")]
    Pem(rustls_pki_types::pem::Error),
    /// There is no certificate in the file or the text.
    #[error("it has no certificate, which would begin with -----BEGIN CERTIFICATE-----")]
    Empty,
}

impl Certificates {
    /// Reads a PEM file.
    pub fn from_file(path: &Path) -> Result<Self, CertificatesError> {
        let read = |source| CertificatesError::Read { path: path.to_owned(), source };
        Self::new(CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(read)?)
    }

    /// Reads PEM text.
    pub fn from_pem(pem: &str) -> Result<Self, CertificatesError> {
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>();
        Self::new(certificates.map_err(CertificatesError::Pem)?)
    }

    fn new(certificates: Vec<CertificateDer<'static>>) -> Result<Self, CertificatesError> {
        if certificates.is_empty() {
            return Err(CertificatesError::Empty);
        }
        Ok(Self(Arc::new(Listed { certificates: certificates.into(), verifier: OnceLock::new() })))
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<Verifier>, rustls::Error> {
        let Listed { certificates, verifier } = &*self.0;
        if let Some(verifier) = verifier.get() {
            return Ok(Arc::clone(verifier));
        }
        let made = Arc::new(Verifier::new(Trusted::listed(certificates, provider)?, provider));
        // Another thread may have been faster.
        Ok(Arc::clone(verifier.get_or_init(|| made)))
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificates({})", self.0.certificates.len())
    }
}

/// What all clients use to encrypt and to verify. It has no state.
static PROVIDER: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(rustls::crypto::aws_lc_rs::default_provider()));

/// Makes the TLS configuration of a client with this verification. Clients with the same [`Certificates`] share the verifier. Each client
/// has its own TLS sessions.
pub fn client_config(verification: &Verification) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::clone(&PROVIDER);
    let verifier = match verification {
        Verification::System => Arc::new(Verifier::new(Trusted::System, &provider)),
        Verification::CaFile(certificates) => certificates.verifier(&provider)?,
        Verification::Disabled => Arc::new(Verifier::new(Trusted::Everyone, &provider)),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS12, &TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Verifies by the system's certificate authorities. They are read only once, because there may be hundreds of BMCs, and not before
/// they are needed, because there may be none.
fn system_verifier(provider: &Arc<CryptoProvider>) -> Option<&'static rustls_platform_verifier::Verifier> {
    static VERIFIER: OnceLock<Option<rustls_platform_verifier::Verifier>> = OnceLock::new();
    let verifier = VERIFIER.get_or_init(|| {
        rustls_platform_verifier::Verifier::new(Arc::clone(provider))
            .inspect_err(|error| {
                tracing::warn!(%error, "cannot read this system's certificate authorities; no server and no BMC is trusted by them");
            })
            .ok()
    });
    verifier.as_ref()
}

#[derive(Debug)]
struct Verifier {
    trusted: Trusted,
    provider: Arc<CryptoProvider>,
}

#[derive(Debug)]
enum Trusted {
    /// Those whom the system trusts.
    System,
    /// These certificates, and those that they have signed.
    Listed { certificates: Arc<[CertificateDer<'static>]>, issuers: Option<Arc<WebPkiServerVerifier>> },
    /// Anyone who answers. Signatures are not verified either: rustls cannot read old certificates (X.509 version 1),
    /// and a signature proves nothing if the certificate is not trusted.
    Everyone,
}

impl Verifier {
    fn new(trusted: Trusted, provider: &Arc<CryptoProvider>) -> Self {
        Self { trusted, provider: Arc::clone(provider) }
    }
}

impl Trusted {
    fn listed(
        certificates: &Arc<[CertificateDer<'static>]>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        // A BMC's own certificate may not be usable as an authority's. The BMC is still recognised by it.
        let (usable, _) = roots.add_parsable_certificates(certificates.iter().cloned());
        let webpki = || WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
        let issuers = (usable > 0).then(webpki).transpose();
        let issuers = issuers.map_err(|error| rustls::Error::General(error.to_string()))?;
        Ok(Self::Listed { certificates: Arc::clone(certificates), issuers })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if !matches!(self.trusted, Trusted::Everyone)
            && let Some(short) = ShortKey::of(end_entity)
        {
            // The signature of the handshake would fail. The advice to trust the certificate would not help.
            return Err(CertificateError::Other(OtherError(Arc::new(short))).into());
        }
        let issuers: Option<&dyn ServerCertVerifier> = match &self.trusted {
            Trusted::Everyone => return Ok(ServerCertVerified::assertion()),
            Trusted::Listed { certificates, .. } if certificates.iter().any(|listed| listed == end_entity) => {
                return Ok(ServerCertVerified::assertion());
            }
            Trusted::Listed { issuers, .. } => issuers.as_deref().map(|issuers| issuers as _),
            Trusted::System => system_verifier(&self.provider).map(|issuers| issuers as _),
        };
        issuers.ok_or(CertificateError::UnknownIssuer)?.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if let Trusted::Everyone = self.trusted {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if let Trusted::Everyone = self.trusted {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Whose certificate an explanation is about, in the words of whoever shows the explanation.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// What it is, such as `BMC`.
    pub name: &'static str,
    /// Why its certificate is often not trusted, if there is a usual reason.
    pub usual: &'static str,
    /// How to trust its certificate.
    pub trust: &'static str,
    /// How to go on without trust, after `or`; empty if there is no way.
    pub unverified: &'static str,
}

const BMC: Peer = Peer {
    name: "BMC",
    usual: ", as is usual for BMCs",
    trust: "add the BMC's certificate, or that of the authority that signed it, to the certificates for BMCs, or disable \
            certificate verification for this BMC",
    unverified: ", or disable certificate verification for this BMC",
};

/// Returns the TLS error among the causes of an error, such as that of an HTTP client.
pub fn tls_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// Explains a TLS error to an operator, and says what to do.
pub(super) fn explain(error: &rustls::Error, origin: String) -> RedfishError {
    match error {
        rustls::Error::InvalidCertificate(error) => RedfishError::Tls { origin, reason: distrust(error, &BMC) },
        other => RedfishError::Handshake { origin, reason: no_handshake(other) },
    }
}

/// Explains why a certificate is not trusted, and says what to do.
pub fn distrust(error: &CertificateError, peer: &Peer) -> String {
    use CertificateError as Bad;
    let Peer { name, usual, trust, unverified } = peer;
    match error {
        Bad::UnknownIssuer => format!("no trusted authority has signed its certificate{usual}: {trust}"),
        Bad::NotValidForName => {
            format!(
                "its certificate is for another address than the {name}'s: use a name in the certificate, or {trust}"
            )
        }
        Bad::NotValidForNameContext { presented, .. } => {
            let names = match presented.as_slice() {
                [] => "no address (it has no subject alternative name)".to_owned(),
                names => names.iter().take(5).map(|name| bare(name)).collect::<Vec<_>>().join(", "),
            };
            format!(
                "its certificate is for {names}, not for the {name}'s address: use a name in the certificate, or {trust}"
            )
        }
        Bad::Expired | Bad::ExpiredContext { .. } => {
            format!("its certificate has expired: renew it, check the clock of this system, or {trust}")
        }
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
            format!("its certificate is not valid yet: check the clocks of the {name} and of this system")
        }
        Bad::Other(other) if other.0.is::<ShortKey>() => {
            format!("{other}: make the {name} create a new key and certificate{unverified}")
        }
        Bad::Other(other) if other.to_string().contains("UnsupportedCertVersion") => format!(
            "its certificate is X.509 version 1, which cannot be verified: make the {name} create a new one{unverified}"
        ),
        Bad::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            format!("its certificate is one of an authority (CA:TRUE), and none for a server: {trust}")
        }
        // rustls would add the names of its types.
        Bad::Other(other) => {
            format!("its certificate cannot be verified ({other}): make the {name} create a new one, or {trust}")
        }
        other => format!("its certificate cannot be verified ({other}): make the {name} create a new one, or {trust}"),
    }
}

/// A name of a certificate as people write it. webpki writes the name inside its type: `DnsName("a.example")`.
fn bare(name: &str) -> &str {
    const TYPES: [&str; 3] = ["DnsName(", "IpAddress(", "UniformResourceIdentifier("];
    let inner = TYPES.iter().find_map(|prefix| name.strip_prefix(prefix)?.strip_suffix(')'));
    inner.map_or(name, |inner| inner.trim_matches('"'))
}

fn no_handshake(error: &rustls::Error) -> String {
    use rustls::{AlertDescription as Alert, Error as E};
    const NO_CLIENT: &str = "it demands a client certificate, and dayone has none";
    let versions = match error {
        E::InvalidMessage(_) => {
            return "it does not use TLS on this port: if it uses plain HTTP there, write its address with +http"
                .to_owned();
        }
        // This client never sends a certificate, so the alert cannot be about another one than a missing one.
        E::AlertReceived(Alert::CertificateRequired | Alert::BadCertificate | Alert::NoCertificate) => {
            return format!(
                "{NO_CLIENT}: switch that off in the BMC, or put a proxy with a certificate in front of it"
            );
        }
        E::AlertReceived(Alert::ProtocolVersion | Alert::InsufficientSecurity) | E::PeerIncompatible(_) => {
            format!("it supports no version and cipher suite of TLS 1.2 or 1.3 that this client supports ({error})")
        }
        // With TLS 1.2, OpenSSL and others say the same of a client without a certificate.
        E::AlertReceived(Alert::HandshakeFailure) => format!(
            "it supports no version and cipher suite of TLS 1.2 or 1.3 that this client supports ({error}), or {NO_CLIENT}"
        ),
        other => return other.to_string(),
    };
    format!("{versions}: update its firmware, or put a proxy with newer TLS in front of it")
}

/// Whether the error may mean that the other side demands a client certificate.
pub(super) fn may_demand_certificate(error: &rustls::Error) -> bool {
    use rustls::AlertDescription as Alert;
    matches!(
        error,
        rustls::Error::AlertReceived(
            Alert::CertificateRequired | Alert::BadCertificate | Alert::NoCertificate | Alert::HandshakeFailure
        )
    )
}

#[cfg(test)]
mod tests;
