//! Certificates and their keys.

use std::path::Path;
use std::time::{Duration, SystemTime};

use doctor::Certificate;
use media::listen::{Tls, TlsError};

use super::Checking;
use crate::api::timestamp::date;

/// How long before its end a certificate is worth a warning.
const SOON: Duration = Duration::from_hours(14 * 24);

impl Checking<'_> {
    /// Checks a certificate with its key. `host` is the host of the URL that clients use.
    pub(super) fn tls(&mut self, keys: [&str; 2], files: [Option<&Path>; 2], host: Option<&str>) {
        let [certificate_key, key_key] = keys;
        let (certificate, key) = match files {
            [None, None] => return,
            [Some(certificate), Some(key)] => (certificate, key),
            [given, _] => {
                let (given, missing) =
                    if given.is_some() { (certificate_key, key_key) } else { (key_key, certificate_key) };
                let message = format!("{certificate_key} and {key_key} go together, and {missing} is missing");
                return self.mistake(given, "half-tls", message, format!("set {missing}, or remove {given}"));
            }
        };
        if let Err(error) = Tls::from_files(certificate, key) {
            let fix = match error {
                TlsError::OldCertificate(_) | TlsError::ShortKey { .. } => {
                    "make a certificate of X.509 version 3, with an ECDSA key or with an RSA key of at least 2048 bits"
                }
                _ => "name a certificate chain (PEM), the server's own first, and the key that belongs to it",
            };
            return self.mistake(certificate_key, "tls-unusable", error.to_string(), fix);
        }
        match Certificate::from_pem_file(certificate) {
            Ok(read) => self.validity(certificate_key, certificate, &read, host),
            // rustls has accepted it.
            Err(error) => {
                let message = format!("{}: {error}; its dates and names are unknown", certificate.display());
                self.doubt(certificate_key, "certificate-unknown", message, "");
            }
        }
    }

    fn validity(&mut self, key: &str, path: &Path, certificate: &Certificate, host: Option<&str>) {
        let (now, shown) = (SystemTime::now(), path.display());
        let renew = "renew the certificate; the server takes it over by itself";
        if certificate.not_after < now {
            let message = format!("the certificate {shown} expired on {}", date(certificate.not_after));
            self.mistake(key, "certificate-expired", message, renew);
        } else if certificate.not_before > now {
            let message = format!("the certificate {shown} is valid only from {}", date(certificate.not_before));
            self.mistake(key, "certificate-expired", message, "check this machine's clock");
        } else if certificate.not_after < now + SOON {
            let message = format!("the certificate {shown} expires on {}", date(certificate.not_after));
            self.doubt(key, "certificate-expires", message, renew);
        }
        if let Some(host) = host.filter(|host| !certificate.is_for(host)) {
            let names = if certificate.names.is_empty() { "no name".to_owned() } else { certificate.names.join(", ") };
            let message = format!("the certificate {shown} is for {names}, and clients use {host}");
            let fix = "issue it for that host; an address must be a subject alternative name of the type IP address";
            self.mistake(key, "certificate-wrong-name", message, fix);
        }
    }
}
