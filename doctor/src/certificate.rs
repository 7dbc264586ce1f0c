//! What a server's certificate says: when it is valid, and for which names.

use std::path::Path;
use std::time::{Duration, SystemTime};

use rustls::server::ParsedCertificate;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::{GeneralName, X509Certificate};
use x509_parser::public_key::PublicKey;

/// The shortest RSA key whose signatures rustls verifies, in bits.
const SHORTEST_RSA: usize = 2048;

/// Why a certificate cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The file cannot be read, or is not PEM.
    #[error("{0}")]
    Pem(#[from] rustls_pki_types::pem::Error),
    /// The file has no certificate.
    #[error("the file has no certificate")]
    None,
    /// The bytes are not a certificate.
    #[error("the certificate is not X.509: {0}")]
    X509(String),
}

/// A server's certificate.
#[derive(Debug, Clone)]
pub struct Certificate {
    der: CertificateDer<'static>,
    /// Since when it is valid.
    pub not_before: SystemTime,
    /// Until when it is valid.
    pub not_after: SystemTime,
    /// The names and addresses that it is for.
    pub names: Vec<String>,
    /// Whether its key may be used as that of a server.
    serves: bool,
    /// The length of its RSA key in bits. `None`: it has a key of another kind.
    rsa_bits: Option<usize>,
    /// Its own name and that of its issuer, as they are encoded.
    subject_and_issuer: [Vec<u8>; 2],
}

impl Certificate {
    /// Reads the first certificate of a file (PEM): the server's own.
    pub fn from_pem_file(path: &Path) -> Result<Self, CertificateError> {
        let first = CertificateDer::pem_file_iter(path)?.next().ok_or(CertificateError::None)??;
        Self::new(first)
    }

    /// Reads a certificate.
    pub fn new(der: CertificateDer<'static>) -> Result<Self, CertificateError> {
        let (_, certificate) =
            parse_x509_certificate(&der).map_err(|error| CertificateError::X509(error.to_string()))?;
        let validity = certificate.validity();
        let (not_before, not_after) = (time(validity.not_before.timestamp()), time(validity.not_after.timestamp()));
        let names = certificate.subject_alternative_name().ok().flatten();
        let names: Vec<String> =
            names.into_iter().flat_map(|extension| &extension.value.general_names).filter_map(name).collect();
        let serves = serves(&certificate);
        let rsa_bits = match certificate.public_key().parsed() {
            Ok(key @ PublicKey::RSA(_)) => Some(key.key_size()),
            _ => None,
        };
        let subject_and_issuer = [certificate.subject(), certificate.issuer()].map(|name| name.as_raw().to_vec());
        Ok(Self { der, not_before, not_after, names, serves, rsa_bits, subject_and_issuer })
    }

    /// Whether it is for this host name or address, as clients check it.
    pub fn is_for(&self, host: &str) -> bool {
        let Ok(name) = ServerName::try_from(host.trim_matches(['[', ']'])) else { return false };
        self.check_name(&name).is_ok()
    }

    /// The certificate itself.
    pub(crate) fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }

    /// Whether its key may be used as that of a server, as OpenSSL checks it.
    pub(crate) fn serves(&self) -> bool {
        self.serves
    }

    /// The length of its RSA key in bits, if rustls verifies no signature of a key that is so short.
    pub(crate) fn short_key(&self) -> Option<usize> {
        self.rsa_bits.filter(|bits| *bits < SHORTEST_RSA)
    }

    /// Whether the other one has the name of its issuer.
    pub(crate) fn names_as_issuer(&self, other: &Self) -> bool {
        let ([_, issuer], [subject, _]) = (&self.subject_and_issuer, &other.subject_and_issuer);
        issuer == subject
    }

    /// An error unless it is for this host name or address.
    pub(crate) fn check_name(&self, name: &ServerName<'_>) -> Result<(), rustls::Error> {
        rustls::client::verify_server_name(&ParsedCertificate::try_from(&self.der)?, name)
    }

    /// An error unless it is valid at this time.
    pub(crate) fn check_time(&self, now: UnixTime) -> Result<(), rustls::Error> {
        let [not_before, not_after] = self.validity();
        if now < not_before {
            return Err(rustls::CertificateError::NotValidYetContext { time: now, not_before }.into());
        }
        if now > not_after {
            return Err(rustls::CertificateError::ExpiredContext { time: now, not_after }.into());
        }
        Ok(())
    }

    /// The time next to `now` at which it is valid.
    pub(crate) fn valid_time(&self, now: UnixTime) -> UnixTime {
        let [not_before, not_after] = self.validity();
        now.min(not_after).max(not_before)
    }

    fn validity(&self) -> [UnixTime; 2] {
        let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        [self.not_before, self.not_after].map(|time| UnixTime::since_unix_epoch(since(time)))
    }
}

/// Whether a certificate has no limits on its use, or has a server's (OpenSSL, `check_purpose_ssl_server` in
/// `crypto/x509/v3_purp.c`).
fn serves(certificate: &X509Certificate<'_>) -> bool {
    let usage = certificate.key_usage().ok().flatten().map(|extension| extension.value);
    let purposes = certificate.extended_key_usage().ok().flatten().map(|extension| extension.value);
    usage.is_none_or(|usage| usage.digital_signature() || usage.key_encipherment() || usage.key_agreement())
        && purposes.is_none_or(|purposes| purposes.server_auth)
}

fn time(seconds: i64) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or_default();
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match *bytes {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(*a, *b, *c, *d).to_string()),
            bytes => Some(std::net::Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()),
        },
        _ => None,
    }
}
