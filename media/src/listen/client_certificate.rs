//! The certificate of a client.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls_pki_types::CertificateDer;
use tokio::time::sleep;
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::GeneralName;

/// The time between two looks at the clock, which somebody may set.
const LOOK: Duration = Duration::from_mins(1);

/// What the listener knows of the certificate of a client, which it has verified in the handshake. The requests of such a client have it as
/// an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    names: Arc<[String]>,
    /// The first moment at which the listener would no longer accept it.
    ends: Option<SystemTime>,
}

impl ClientCertificate {
    /// Reads a certificate. If it cannot be read, it has no names, and no end is known.
    pub(super) fn new(der: &CertificateDer<'_>) -> Self {
        let Ok((_, certificate)) = parse_x509_certificate(der) else {
            return Self { names: Arc::default(), ends: None };
        };
        // It is valid in the second of `notAfter`, too.
        let last = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or_default();
        let ends = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(last.saturating_add(1)));
        let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        let mut names: Vec<String> = common.map(str::to_owned).collect();
        let alternative = certificate.subject_alternative_name().ok().flatten();
        let alternative = alternative.into_iter().flat_map(|extension| &extension.value.general_names);
        names.extend(alternative.filter_map(|name| match name {
            GeneralName::DNSName(name) | GeneralName::RFC822Name(name) | GeneralName::URI(name) => {
                Some((*name).to_owned())
            }
            _ => None,
        }));
        Self { names: names.into(), ends }
    }

    /// The common name of the subject, and then the subject's alternative names: DNS names, mail addresses and URIs.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether it has expired since the handshake.
    pub fn has_expired(&self) -> bool {
        self.ends.is_some_and(|end| end <= SystemTime::now())
    }

    /// Completes when it has expired.
    pub(super) async fn expired(&self) {
        let Some(end) = self.ends else { return pending().await };
        while let Ok(left) = end.duration_since(SystemTime::now())
            && !left.is_zero()
        {
            sleep(left.min(LOOK)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_name_comes_first() {
        let mut parameters = rcgen::CertificateParams::new(["ops.example".to_owned()]).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "ops");
        let uri = "spiffe://example/ops".try_into().unwrap();
        parameters.subject_alt_names.push(rcgen::SanType::URI(uri));
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let names = ClientCertificate::new(certificate.der());
        assert_eq!(names.names().last().unwrap(), "spiffe://example/ops");
        assert!(names.names().contains(&"ops".to_owned()) && names.names().contains(&"ops.example".to_owned()));
        assert!(!names.has_expired());
        assert!(ClientCertificate::new(&CertificateDer::from(vec![1, 2, 3])).names().is_empty());
    }

    #[tokio::test]
    async fn a_certificate_is_valid_until_the_end_of_its_last_second() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.not_after = rcgen::date_time_ymd(1970, 1, 1) + now + Duration::from_secs(1);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = ClientCertificate::new(parameters.self_signed(&key).unwrap().der());
        assert!(!certificate.has_expired());
        certificate.expired().await;
        assert!(certificate.has_expired());
        let passed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert!(passed.as_secs() >= now.as_secs() + 2, "{now:?} {passed:?}");
    }
}
