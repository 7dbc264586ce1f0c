//! Verifies the server's certificate, and accepts it even if it is bad, so that a bad certificate does not hide all
//! other findings.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// How the server's certificate is verified.
#[derive(Debug, Clone, Default)]
pub enum Trust {
    /// By the certificate authorities that this machine trusts.
    #[default]
    System,
    /// By these certificate authorities, and no others.
    Authorities(Vec<CertificateDer<'static>>),
    /// Not at all.
    Anything,
}

type Verifier = Result<Arc<dyn ServerCertVerifier>, Error>;

/// The verifier for all connections. It reads the system's certificate authorities only once, and only if a server has
/// TLS.
#[derive(Debug, Default)]
pub(crate) struct SharedVerifier {
    trust: Trust,
    /// `None` verifies nothing.
    verifier: OnceLock<Option<Verifier>>,
}

impl SharedVerifier {
    pub(crate) fn new(trust: Trust) -> Self {
        Self { trust, verifier: OnceLock::new() }
    }

    fn get(&self, provider: &Arc<CryptoProvider>) -> Option<&Verifier> {
        self.verifier.get_or_init(|| self.trust.verifier(Arc::clone(provider)).transpose()).as_ref()
    }
}

impl Trust {
    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Option<Arc<dyn ServerCertVerifier>>, Error> {
        match self {
            Self::Anything => Ok(None),
            Self::System => Ok(Some(Arc::new(rustls_platform_verifier::Verifier::new(provider)?))),
            Self::Authorities(authorities) => {
                let mut roots = RootCertStore::empty();
                for authority in authorities {
                    roots.add(authority.clone())?;
                }
                let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
                Ok(Some(verifier.map_err(|error| Error::General(error.to_string()))?))
            }
        }
    }
}

/// Accepts every certificate, and records what is wrong with the last one.
#[derive(Debug)]
pub(super) struct RecordingVerifier {
    provider: Arc<CryptoProvider>,
    shared: Arc<SharedVerifier>,
    error: Mutex<Option<Error>>,
    certificate: Mutex<Option<CertificateDer<'static>>>,
}

impl RecordingVerifier {
    pub(super) fn new(shared: Arc<SharedVerifier>, provider: Arc<CryptoProvider>) -> Self {
        Self { provider, shared, error: Mutex::default(), certificate: Mutex::default() }
    }

    /// What is wrong with the certificate of the last handshake.
    pub(super) fn error(&self) -> Option<Error> {
        self.error.lock().clone()
    }

    /// The certificate of the last handshake.
    pub(super) fn certificate(&self) -> Option<CertificateDer<'static>> {
        self.certificate.lock().clone()
    }
}

impl ServerCertVerifier for RecordingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = match self.shared.get(&self.provider) {
            None => Ok(()),
            Some(Err(error)) => Err(error.clone()),
            Some(Ok(verifier)) => {
                verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now).map(drop)
            }
        };
        *self.error.lock() = verified.err();
        *self.certificate.lock() = Some(end_entity.clone().into_owned());
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
