//! The server's certificate: judged, and taken whatever the judgement, so that one bad certificate does not hide
//! everything else.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// By what a server's certificate is judged.
#[derive(Debug, Clone, Default)]
pub enum Trust {
    /// The certificate authorities that this machine trusts.
    #[default]
    System,
    /// These, and no others.
    Authorities(Vec<CertificateDer<'static>>),
    /// It is not judged.
    Anything,
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

/// A verifier that remembers what it thought of the last certificate.
#[derive(Debug)]
pub(super) struct Judge {
    provider: Arc<CryptoProvider>,
    /// None: nothing is judged.
    verifier: Option<Result<Arc<dyn ServerCertVerifier>, Error>>,
    judgement: Mutex<Option<Error>>,
}

impl Judge {
    pub(super) fn new(trust: &Trust, provider: Arc<CryptoProvider>) -> Self {
        let verifier = trust.verifier(Arc::clone(&provider)).transpose();
        Self { provider, verifier, judgement: Mutex::default() }
    }

    /// What is wrong with the certificate of the last handshake.
    pub(super) fn judgement(&self) -> Option<Error> {
        self.judgement.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let judged = match &self.verifier {
            None => Ok(()),
            Some(Err(error)) => Err(error.clone()),
            Some(Ok(verifier)) => {
                verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now).map(drop)
            }
        };
        *self.judgement.lock().unwrap_or_else(PoisonError::into_inner) = judged.err();
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
