//! The certificate of a client.

use std::sync::Arc;

use rustls_pki_types::CertificateDer;
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::GeneralName;

/// The names in the certificate of a client, which the listener has verified. The requests of such a client have it as an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate(Arc<[String]>);

impl ClientCertificate {
    /// Reads a certificate. If it cannot be read, it has no names.
    pub(super) fn new(der: &CertificateDer<'_>) -> Self {
        let Ok((_, certificate)) = parse_x509_certificate(der) else { return Self(Arc::default()) };
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
        Self(names.into())
    }

    /// The common name of the subject, and then the subject's alternative names: DNS names, mail addresses and URIs.
    pub fn names(&self) -> &[String] {
        &self.0
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
        assert!(ClientCertificate::new(&CertificateDer::from(vec![1, 2, 3])).names().is_empty());
    }
}
