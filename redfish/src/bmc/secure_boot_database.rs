//! Enrols a certificate in a machine's database of authorities (`db`): from then on, with Secure Boot, its firmware also starts what that
//! key has signed (UEFI 2.10 §32.4). Schemas `SecureBootDatabase` 1.0 and `Certificate` 1.9 (DMTF DSP8010).

use std::fmt;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::{Error as PemError, PemObject as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Bmc;
use super::properties::Properties;
use super::survey::System;
use crate::RedfishError;

/// The `DatabaseId` of the authorities whose programs firmware starts.
const AUTHORITIES: &str = "db";

/// Whose entry it is (`SignatureOwner`, UEFI 2.10 §32.4.1): this library's. Firmware shows it in its setup.
const OWNER: &str = "c2f4b1f6-2a3f-4f0e-9b57-6d1f0f3c7a95";

/// A certificate in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct PemCertificate {
    text: String,
    der: CertificateDer<'static>,
}

impl PemCertificate {
    /// Reads a text with one certificate. Other text around it is left out.
    pub fn parse(text: &str) -> Result<Self, PemError> {
        let der = CertificateDer::from_pem_slice(text.as_bytes())?;
        let begin = text.find("-----BEGIN CERTIFICATE-----").ok_or(PemError::NoItemsFound)?;
        let end = "-----END CERTIFICATE-----";
        let length = text.get(begin..).and_then(|rest| rest.find(end)).ok_or(PemError::NoItemsFound)? + end.len();
        let text = text.get(begin..begin + length).unwrap_or_default();
        Ok(Self { text: format!("{text}\n"), der })
    }

    /// Whether a BMC's text is the same certificate.
    fn is(&self, text: &str) -> bool {
        CertificateDer::from_pem_slice(text.as_bytes()).is_ok_and(|der| der == self.der)
    }
}

impl fmt::Debug for PemCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PemCertificate").field("bytes", &self.der.len()).finish_non_exhaustive()
    }
}

/// What became of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enrolment {
    /// The database had it. Nothing was sent.
    AlreadyThere,
    /// The BMC lists it now. Some firmware takes it at its next start.
    Enrolled,
    /// The BMC has accepted it, but does not list it, or lists certificates without their text. The machine's next start shows whether
    /// it trusts the certificate.
    Accepted,
}

/// Why a certificate cannot be enrolled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnrolError {
    /// The connection, the login or a request failed, or the BMC refuses the certificate.
    #[error(transparent)]
    Redfish(#[from] RedfishError),
    /// The BMC has nothing about Secure Boot, or not what the machine trusts.
    #[error(
        "the BMC does not offer to change what the machine trusts (SecureBootDatabases of the System); enrol the certificate in the setup of \
         the machine's firmware"
    )]
    NotOffered,
    /// The BMC has databases, but no `db` that takes certificates. With their names.
    #[error(
        "the BMC has no database 'db' that takes certificates; it has: {}. Enrol the certificate in the setup of the machine's firmware",
        .0.join(", ")
    )]
    NoDatabase(Vec<String>),
}

impl Bmc {
    /// Adds a certificate to the machine's database `db`, unless the database has it. Only for the owner of the machine: whoever holds the
    /// certificate's key can then start any program on it.
    pub async fn enrol(&self, system: &System, certificate: &PemCertificate) -> Result<Enrolment, EnrolError> {
        let certificates = self.authorities(system).await?;
        if self.holds(&certificates, certificate).await? {
            return Ok(Enrolment::AlreadyThere);
        }
        let body = |owner: Option<&str>| {
            let mut body = json!({"CertificateString": certificate.text, "CertificateType": "PEM"});
            if let (Some(owner), Some(members)) = (owner, body.as_object_mut()) {
                members.insert("UefiSignatureOwner".to_owned(), owner.into());
            }
            body
        };
        let limit = self.limits().change;
        match self.client().post(&certificates, &body(Some(OWNER)), limit).await {
            // Older services do not know the owner, which the schema has since version 1.2.
            Err(RedfishError::Status(failure)) if failure.status.is_client_error() => {
                self.client().post(&certificates, &body(None), limit).await?;
            }
            other => drop(other?),
        }
        // What the BMC says may be what it will do at the machine's next start.
        let is_listed = self.holds(&certificates, certificate).await.unwrap_or(false);
        Ok(if is_listed { Enrolment::Enrolled } else { Enrolment::Accepted })
    }

    /// The path of the certificates of the database.
    async fn authorities(&self, system: &System) -> Result<String, EnrolError> {
        let secure_boot = system.secure_boot.as_deref().ok_or(EnrolError::NotOffered)?;
        let secure_boot = self.client().get(secure_boot).await?.body;
        let databases = Properties::new(&secure_boot).link("SecureBootDatabases").ok_or(EnrolError::NotOffered)?;
        let mut known = Vec::new();
        for path in self.member_paths(&databases).await? {
            let body = self.client().get(&path).await?.body;
            let database = Properties::new(&body);
            let id = database.text("DatabaseId").or_else(|| database.text("Id")).unwrap_or(path);
            match database.link("Certificates") {
                Some(certificates) if id == AUTHORITIES => return Ok(certificates),
                _ => known.push(self.client().secrets().mask(&id)),
            }
        }
        Err(if known.is_empty() { EnrolError::NotOffered } else { EnrolError::NoDatabase(known) })
    }

    async fn holds(&self, certificates: &str, certificate: &PemCertificate) -> Result<bool, RedfishError> {
        for path in self.member_paths(certificates).await? {
            let body = self.client().get(&path).await?.body;
            // The text of a certificate is longer than texts that are shown.
            if body.get("CertificateString").and_then(Value::as_str).is_some_and(|text| certificate.is(text)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(name: &str) -> String {
        rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert.pem()
    }

    #[test]
    fn one_certificate_is_taken_out_of_the_text_around_it() {
        let pem = certificate("site");
        let read = PemCertificate::parse(&format!("subject=CN=Site\n{pem}\nmore")).unwrap();
        assert_eq!(read, PemCertificate::parse(&pem).unwrap());
        assert_eq!(read.text.trim(), pem.replace("\r\n", "\n").trim());
        assert!(read.is(&pem.replace('\n', "\r\n")) && !read.is(&certificate("other")) && !read.is(""));
        assert!(PemCertificate::parse("-----BEGIN CERTIFICATE-----\n").is_err());
        assert!(!format!("{read:?}").contains("BEGIN"));
    }
}
