//! Whether the BMC at the other end is the one meant: TLS 1.2 and 1.3 by rustls.
//!
//! Most BMCs come with a certificate that they signed themselves, often without a subject alternative name. A file of
//! certificates therefore does two things: what it holds may have signed the BMC's certificate, as usual, and a BMC
//! whose very certificate is in the file is trusted by that, whatever name it is reached by and even if it has expired.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::version::{TLS12, TLS13};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// Certificates that a BMC is trusted by.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificates(Arc<[CertificateDer<'static>]>);

/// How a BMC's certificate is verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Verification {
    /// By the certificate authorities that this system trusts.
    #[default]
    System,
    /// By these certificates and no others: a certificate authority's, or the BMC's own.
    CaFile(Certificates),
    /// Not at all: whoever answers is believed, and gets the password.
    Disabled,
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificatesError {
    /// The file cannot be read, or is not PEM.
    #[error("certificates {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: rustls_pki_types::pem::Error,
    },
    /// Not PEM.
    #[error("the certificates are not PEM: {0}")]
    Pem(rustls_pki_types::pem::Error),
    /// No certificate in it.
    #[error("there is no certificate in it; it is a text that begins with -----BEGIN CERTIFICATE-----")]
    Empty,
}

impl Certificates {
    /// From a file in PEM.
    pub fn from_file(path: &Path) -> Result<Self, CertificatesError> {
        let read = |source| CertificatesError::Read { path: path.to_owned(), source };
        Self::new(CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(read)?)
    }

    /// From a text in PEM.
    pub fn from_pem(pem: &str) -> Result<Self, CertificatesError> {
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>();
        Self::new(certificates.map_err(CertificatesError::Pem)?)
    }

    fn new(certificates: Vec<CertificateDer<'static>>) -> Result<Self, CertificatesError> {
        if certificates.is_empty() { Err(CertificatesError::Empty) } else { Ok(Self(certificates.into())) }
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificates({})", self.0.len())
    }
}

/// The configuration of a client that verifies so.
pub fn client_config(verification: &Verification) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match verification {
        Verification::System => system_verifier(&provider),
        Verification::CaFile(certificates) => Arc::new(ListedVerifier::new(certificates, &provider)?),
        Verification::Disabled => Arc::new(NoVerifier(Arc::clone(&provider))),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS12, &TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// By the system's certificate authorities, which are read once: there may be hundreds of BMCs.
fn system_verifier(provider: &Arc<CryptoProvider>) -> Arc<dyn ServerCertVerifier> {
    static VERIFIER: OnceLock<Arc<dyn ServerCertVerifier>> = OnceLock::new();
    let verifier = VERIFIER.get_or_init(|| match rustls_platform_verifier::Verifier::new(Arc::clone(provider)) {
        Ok(verifier) => Arc::new(verifier),
        Err(error) => {
            tracing::warn!(%error, "no BMC's certificate will be trusted by the certificate authorities of this system");
            Arc::new(ListedVerifier { listed: Arc::default(), signed: None, provider: Arc::clone(provider) })
        }
    });
    Arc::clone(verifier)
}

/// Trusts listed certificates, and what listed authorities have signed.
#[derive(Debug)]
struct ListedVerifier {
    listed: Arc<[CertificateDer<'static>]>,
    signed: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ListedVerifier {
    fn new(certificates: &Certificates, provider: &Arc<CryptoProvider>) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        // A BMC's own certificate may be one that cannot be an authority's; it is still recognised.
        let (usable, _) = roots.add_parsable_certificates(certificates.0.iter().cloned());
        let webpki = || WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
        let signed = (usable > 0).then(webpki).transpose();
        let signed = signed.map_err(|error| rustls::Error::General(error.to_string()))?;
        Ok(Self { listed: Arc::clone(&certificates.0), signed, provider: Arc::clone(provider) })
    }
}

impl ServerCertVerifier for ListedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.listed.iter().any(|listed| listed == end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        let signed = self.signed.as_ref().ok_or(CertificateError::UnknownIssuer)?;
        signed.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Believes everyone. Signatures are not verified either: old certificates (X.509 v1) cannot be read for it, and without
/// trust in the certificate they would prove nothing.
#[derive(Debug)]
struct NoVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What is wrong with a BMC's TLS, and what can be done, for the operator.
pub(super) fn explain(error: &rustls::Error) -> String {
    use rustls::Error as E;
    const TRUST: &str = "give the BMC's certificate, or that of the authority that signed it, as the BMC's certificate \
                         file, or disable certificate verification for this BMC";
    match error {
        E::InvalidCertificate(CertificateError::UnknownIssuer) => {
            format!("nobody that is trusted here has signed its certificate, as is usual for BMCs: {TRUST}")
        }
        E::InvalidCertificate(CertificateError::NotValidForName) => {
            format!(
                "its certificate is not for the address it is reached by: use the name in the certificate, or {TRUST}"
            )
        }
        E::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) => {
            let names = match presented.as_slice() {
                [] => "nothing (it has no subject alternative name)".to_owned(),
                names => names.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", "),
            };
            format!(
                "its certificate is for {names}, not for the address it is reached by: use a name in it, or {TRUST}"
            )
        }
        E::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            format!("its certificate has expired: renew it, or {TRUST}")
        }
        E::InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
            "its certificate is not valid yet: look at the clocks of the BMC and of this system".to_owned()
        }
        E::InvalidCertificate(CertificateError::Other(other))
            if other.to_string().contains("UnsupportedCertVersion") =>
        {
            "its certificate is one of X.509 version 1, which proves nothing: have the BMC make a new one, or disable \
             certificate verification for this BMC"
                .to_owned()
        }
        E::InvalidCertificate(other) => {
            format!("its certificate cannot be verified ({other}): have the BMC make a new one; or {TRUST}")
        }
        E::InvalidMessage(_) => {
            "it does not speak TLS on this port: if it speaks plain HTTP there, write the address with +http".to_owned()
        }
        E::AlertReceived(_) | E::PeerIncompatible(_) => format!(
            "it shares no version or cipher suite of TLS 1.2 or 1.3 with us ({error}): update its firmware, or put a \
             proxy that speaks newer TLS before it"
        ),
        other => other.to_string(),
    }
}
