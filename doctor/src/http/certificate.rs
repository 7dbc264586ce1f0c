//! Verifies the server's certificate, and accepts it even if it is bad, so that a bad certificate does not hide all
//! other findings.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::certificate::Certificate;

/// How the server's certificate is verified.
#[derive(Debug, Clone, Default)]
pub enum Trust {
    /// By the certificate authorities that this machine trusts.
    #[default]
    System,
    /// By these certificates, and no others: those of authorities, or the server's own, as `redfish` and curl do it.
    Authorities(Vec<CertificateDer<'static>>),
    /// Not at all.
    Anything,
}

/// Decides whether a certificate is trusted.
#[derive(Debug)]
enum Verifier {
    System(rustls_platform_verifier::Verifier),
    Listed { certificates: Vec<CertificateDer<'static>>, issuers: Option<Arc<WebPkiServerVerifier>> },
}

/// The verifier for all connections. It reads the system's certificate authorities only once, and only if a server has
/// TLS.
#[derive(Debug, Default)]
pub(crate) struct SharedVerifier {
    trust: Trust,
    /// `None` verifies nothing.
    verifier: OnceLock<Option<Result<Verifier, Error>>>,
}

impl SharedVerifier {
    pub(crate) fn new(trust: Trust) -> Self {
        Self { trust, verifier: OnceLock::new() }
    }

    fn get(&self, provider: &Arc<CryptoProvider>) -> Option<&Result<Verifier, Error>> {
        self.verifier.get_or_init(|| self.trust.verifier(Arc::clone(provider)).transpose()).as_ref()
    }
}

impl Trust {
    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Option<Verifier>, Error> {
        match self {
            Self::Anything => Ok(None),
            Self::System => Ok(Some(Verifier::System(rustls_platform_verifier::Verifier::new(provider)?))),
            Self::Authorities(certificates) => {
                let mut roots = RootCertStore::empty();
                // A server's own certificate may not be usable as an authority's. The server is still recognised by it.
                let (usable, _) = roots.add_parsable_certificates(certificates.iter().cloned());
                let webpki = || WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
                let issuers = (usable > 0).then(webpki).transpose();
                let issuers = issuers.map_err(|error| Error::General(error.to_string()))?;
                Ok(Some(Verifier::Listed { certificates: certificates.clone(), issuers }))
            }
        }
    }
}

impl Verifier {
    fn verify(&self, shown: Shown<'_>, now: UnixTime) -> Result<(), Error> {
        let Shown { end_entity, intermediates, server_name, ocsp_response } = shown;
        let verifier: &dyn ServerCertVerifier = match self {
            Self::System(verifier) => verifier,
            Self::Listed { certificates, .. } if certificates.iter().any(|listed| listed == end_entity) => {
                return Ok(());
            }
            Self::Listed { issuers, .. } => &**issuers.as_ref().ok_or(CertificateError::UnknownIssuer)?,
        };
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now).map(drop)
    }

    /// The certificates of authorities that clients of this machine trust.
    fn authorities(&self) -> Vec<CertificateDer<'static>> {
        match self {
            Self::System(_) => rustls_native_certs::load_native_certs().certs,
            Self::Listed { certificates, .. } => certificates.clone(),
        }
    }
}

/// A server shows a certificate of an authority. webpki refuses a server's certificate with CA:TRUE even if it is trusted; OpenSSL does
/// not look at that.
#[derive(Debug, thiserror::Error)]
enum TrustedAuthority {
    /// It is in the store, and has signed itself.
    #[error(
        "this machine trusts it, so readers with OpenSSL that trust it, such as Ironic and curl, do not mind that, and clients with \
         rustls, such as dayone, refuse it"
    )]
    Itself,
    /// It is in the store, and who has signed it is not.
    #[error(
        "this machine trusts it, but not who has signed it: curl takes it for the server's, other readers with OpenSSL, such as \
         Ironic, do not, and clients with rustls, such as dayone, refuse it"
    )]
    Intermediate,
    /// One in the store has the name of its issuer.
    #[error(
        "this machine trusts an authority with the name of its issuer: if that has signed it, readers with OpenSSL, such as Ironic and \
         curl, do not mind that, and clients with rustls, such as dayone, refuse it"
    )]
    Signed,
}

/// Why others may trust a certificate that is one of an authority, as the rest of a sentence.
pub(crate) fn authority_reason(error: &Error) -> Option<String> {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return None };
    other.0.downcast_ref::<TrustedAuthority>().map(ToString::to_string)
}

/// Whether webpki refuses the certificate because it is one of an authority.
pub(crate) fn is_of_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return false };
    other.to_string().contains("CaUsedAsEndEntity")
}

/// Tells [`TrustedAuthority`] from other reasons to refuse a certificate.
fn explained(
    error: Error,
    certificate: &Certificate,
    authorities: impl FnOnce() -> Vec<CertificateDer<'static>>,
) -> Error {
    if !is_of_authority(&error) || !certificate.serves() {
        return error;
    }
    let authorities = authorities();
    let is_issuer = |der: &CertificateDer<'static>| {
        Certificate::new(der.clone()).is_ok_and(|authority| certificate.names_as_issuer(&authority))
    };
    let is_own_issuer = certificate.names_as_issuer(certificate);
    let has_issuer = authorities.iter().any(is_issuer);
    let found = match authorities.contains(certificate.der()) {
        true if is_own_issuer || has_issuer => TrustedAuthority::Itself,
        true => TrustedAuthority::Intermediate,
        // Many certificates that sign themselves have the same name.
        false if has_issuer && !is_own_issuer => TrustedAuthority::Signed,
        false => return error,
    };
    CertificateError::Other(OtherError(Arc::new(found))).into()
}

/// rustls verifies no signature of a key that is so short, even if the certificate is trusted.
#[derive(Debug, thiserror::Error)]
#[error("its RSA key has only {0} bits, and clients with rustls, such as dayone, demand 2048, as OpenSSL usually does")]
struct ShortKey(usize);

/// Why no client with rustls can use a certificate, even one that it trusts, as the rest of a sentence.
pub(crate) fn unusable_reason(error: &Error) -> Option<String> {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return None };
    let reason = other.to_string();
    if reason.contains("UnsupportedCertVersion") {
        return Some("it is not X.509 version 3, which clients with rustls, such as dayone, demand".to_owned());
    }
    other.0.is::<ShortKey>().then_some(reason)
}

/// What a server shows in a handshake.
#[derive(Clone, Copy)]
struct Shown<'a> {
    end_entity: &'a CertificateDer<'a>,
    intermediates: &'a [CertificateDer<'a>],
    server_name: &'a ServerName<'a>,
    ocsp_response: &'a [u8],
}

/// Everything that is wrong with a certificate. The verifier says only the first: the name and the dates do not depend on who is
/// trusted, and readers that trust the certificate for another reason still check them.
fn problems(verifier: &Verifier, shown: Shown<'_>, now: UnixTime) -> Vec<Error> {
    let Ok(certificate) = Certificate::new(shown.end_entity.clone().into_owned()) else {
        return verifier.verify(shown, now).err().into_iter().collect();
    };
    let others = [certificate.check_time(now).err(), certificate.check_name(shown.server_name).err()];
    // Otherwise the dates would hide whether it is trusted.
    let refused = verifier.verify(shown, certificate.valid_time(now)).err();
    let refused = refused.map(|error| explained(error, &certificate, || verifier.authorities()));
    let mut problems: Vec<Error> = refused.into_iter().collect();
    for other in others.into_iter().flatten() {
        if !problems.iter().any(|known| Problem::of(known) == Problem::of(&other)) {
            problems.push(other);
        }
    }
    problems
}

/// A kind of problem with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is not valid now.
    Time,
    /// It is for another server.
    Name,
    /// It is one of an authority, which others may trust.
    Authority,
    /// Who signed it is not trusted, or it is no certificate of a server.
    Trust,
}

impl Problem {
    pub(crate) fn of(error: &Error) -> Self {
        use CertificateError as Bad;
        match error {
            Error::InvalidCertificate(
                Bad::Expired | Bad::ExpiredContext { .. } | Bad::NotValidYet | Bad::NotValidYetContext { .. },
            ) => Self::Time,
            Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => Self::Name,
            Error::InvalidCertificate(Bad::Other(other)) if other.0.is::<TrustedAuthority>() => Self::Authority,
            _ => Self::Trust,
        }
    }
}

/// Accepts every certificate, and records what is wrong with the last one.
#[derive(Debug)]
pub(super) struct RecordingVerifier {
    provider: Arc<CryptoProvider>,
    shared: Arc<SharedVerifier>,
    problems: Mutex<Vec<Error>>,
    certificate: Mutex<Option<CertificateDer<'static>>>,
}

impl RecordingVerifier {
    pub(super) fn new(shared: Arc<SharedVerifier>, provider: Arc<CryptoProvider>) -> Self {
        Self { provider, shared, problems: Mutex::default(), certificate: Mutex::default() }
    }

    /// Accepts the signature of a handshake, and records why it cannot be verified.
    fn record(
        &self,
        verified: Result<HandshakeSignatureValid, Error>,
        certificate: &CertificateDer<'_>,
    ) -> HandshakeSignatureValid {
        if let Err(error) = verified
            && self.shared.get(&self.provider).is_some()
        {
            let short = Certificate::new(certificate.clone().into_owned()).ok().and_then(|read| read.short_key());
            let short = short.map(|bits| CertificateError::Other(OtherError(Arc::new(ShortKey(bits)))).into());
            self.problems.lock().push(short.unwrap_or(error));
        }
        HandshakeSignatureValid::assertion()
    }

    /// What is wrong with the certificate of the last handshake.
    pub(super) fn problems(&self) -> Vec<Error> {
        self.problems.lock().clone()
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
        *self.problems.lock() = match self.shared.get(&self.provider) {
            None => Vec::new(),
            Some(Err(error)) => vec![error.clone()],
            Some(Ok(verifier)) => {
                problems(verifier, Shown { end_entity, intermediates, server_name, ocsp_response }, now)
            }
        };
        *self.certificate.lock() = Some(end_entity.clone().into_owned());
        Ok(ServerCertVerified::assertion())
    }

    // The handshake of a certificate that rustls cannot use must succeed, too, so that all other examinations are made.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        Ok(self.record(verify_tls12_signature(message, certificate, signed, algorithms), certificate))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        Ok(self.record(verify_tls13_signature(message, certificate, signed, algorithms), certificate))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
