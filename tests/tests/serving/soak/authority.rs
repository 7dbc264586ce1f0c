//! A certificate authority that the clients trust, and the certificates that the server gets from it, one after the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use rustls::{ClientConfig, RootCertStore};

use super::site::write_secret;

pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: PathBuf,
}

impl Authority {
    pub(crate) fn new(directory: &Path) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        // OpenSSL takes a certificate with its issuer's name for a self-signed one.
        parameters.distinguished_name.push(DnType::CommonName, "the authority of a test");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
        fs::write(directory.join("ca.crt"), issuer.pem()).unwrap();
        Self { issuer, directory: directory.to_owned() }
    }

    /// The file that clients verify the server with.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join("ca.crt")
    }

    /// The certificate and the key of the server.
    pub(crate) fn files(&self) -> [PathBuf; 2] {
        ["tls.crt", "tls.key"].map(|name| self.directory.join(name))
    }

    /// Puts another certificate in place, and returns it.
    pub(crate) fn renew(&self) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        for (path, text) in self.files().iter().zip([certificate.pem(), key.serialize_pem()]) {
            write_secret(path, &text);
        }
        certificate.der().clone()
    }

    pub(crate) fn client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.issuer.pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        Arc::new(config.with_root_certificates(roots).with_no_client_auth())
    }
}
