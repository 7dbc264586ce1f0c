//! Writes Authenticode signatures, as `sbsign` does (Microsoft's "Windows Authenticode Portable Executable Signature Format").
//!
//! The private key is elsewhere: [`Unsigned::message`] is what its owner signs. The signature has no time, and RSA signatures of this
//! kind are the same each time, so the same program with the same key has the same bytes.

use std::fmt;

use bytes::Bytes;
use cms::cert::{CertificateChoices, IssuerAndSerialNumber};
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{
    CertificateSet, EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos,
};
use der::asn1::{Any, Null, ObjectIdentifier, OctetString, SetOfVec};
use der::{Decode as _, Encode as _};
use sha2::{Digest as _, Sha256};
use x509_cert::attr::{Attribute, Attributes};
use x509_cert::spki::AlgorithmIdentifierOwned;

use super::certificate::{Certificate, Verified};
use super::hash::Algorithm;
use super::pe::{PeError, PeImage};
use super::signature::{DigestInfo, IndirectData, MESSAGE_DIGEST, SIGNED_DATA, SPC_INDIRECT_DATA};
use crate::digest::Digest;
use crate::fields::put;

const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// The shortest RSA key that firmware still takes, in bytes: UEFI 2.10 §32.4.1 knows RSA 2048.
const SHORTEST_KEY: usize = 256;
/// `SpcAttributeTypeAndOptionalValue` of a program (`SPC_PE_IMAGE_DATAOBJ`), with the text `<<<Obsolete>>>` as its file, as all
/// signers write it.
const PE_IMAGE_DATA: [u8; 53] =
    *b"\x30\x33\x06\x0a\x2b\x06\x01\x04\x01\x82\x37\x02\x01\x0f\x30\x25\x03\x01\x00\xa0\x20\xa2\x1e\
    \x80\x1c\0<\0<\0<\0O\0b\0s\0o\0l\0e\0t\0e\0>\0>\0>";
/// `WIN_CERTIFICATE`: the revision, and that PKCS #7 follows.
const WIN_CERTIFICATE: [u8; 4] = *b"\x00\x02\x02\x00";

/// Why a program cannot be signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The file is not an X.509 certificate.
    #[error("this is not an X.509 certificate (DER)")]
    NotACertificate,
    /// Firmware knows only RSA keys.
    #[error("firmware knows only RSA keys, and the key in the certificate is of another kind")]
    Key,
    /// Firmware knows only RSA keys of at least 2048 bits.
    #[error("firmware knows only RSA keys with at least 2048 bits, and the key in the certificate has {0}")]
    ShortKey(usize),
    /// The key of the certificate has not made the signature.
    #[error("the private key does not belong to the certificate")]
    OtherKey,
    /// The owner of the private key could not sign.
    #[error("the private key cannot sign: {0}")]
    Unusable(&'static str),
    /// A mistake in dayone.
    #[error("the program to sign: it {0}")]
    Program(String),
    /// A mistake in dayone.
    #[error("the signature cannot be encoded: {0}")]
    Encoding(#[from] der::Error),
}

impl From<PeError> for SignError {
    fn from(error: PeError) -> Self {
        Self::Program(error.to_string())
    }
}

/// The private key of a site, with its certificate. The library never sees the key itself.
pub trait SiteKey: Send + Sync {
    /// Its certificate, which the `db` of the site's machines must have, or that of its authority.
    fn certificate(&self) -> &SiteCertificate;

    /// Signs a message: RSA PKCS #1 v1.5 with SHA-256.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError>;
}

/// The certificate of a site's key.
#[derive(Clone)]
pub struct SiteCertificate {
    der: Bytes,
    certificate: Certificate,
    parsed: x509_cert::Certificate,
}

impl SiteCertificate {
    /// Reads a certificate (DER). Its key must be an RSA key that firmware takes.
    pub fn from_der(der: impl Into<Bytes>) -> Result<Self, SignError> {
        let der = der.into();
        let parsed = x509_cert::Certificate::from_der(&der).map_err(|_| SignError::NotACertificate)?;
        let certificate = Certificate::new(parsed.clone()).ok_or(SignError::NotACertificate)?;
        match certificate.rsa_length() {
            None => return Err(SignError::Key),
            Some(length) if length < SHORTEST_KEY => return Err(SignError::ShortKey(length * 8)),
            Some(_) => {}
        }
        Ok(Self { der, certificate, parsed })
    }

    /// The certificate as it was read.
    pub fn der(&self) -> &Bytes {
        &self.der
    }

    /// The common name of its owner.
    pub fn subject(&self) -> String {
        self.certificate.subject()
    }

    /// The SHA-256 of its DER form, by which everybody names it.
    pub fn fingerprint(&self) -> Digest {
        Digest::of(&self.der)
    }

    /// Fails if its owner has not signed the message in this way.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), SignError> {
        match self.certificate.has_signed(Algorithm::Sha256, message, signature) {
            Verified::Yes => Ok(()),
            Verified::No | Verified::Unknown => Err(SignError::OtherKey),
        }
    }
}

impl Eq for SiteCertificate {}

impl PartialEq for SiteCertificate {
    fn eq(&self, other: &Self) -> bool {
        self.der == other.der
    }
}

impl fmt::Debug for SiteCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiteCertificate")
            .field("subject", &self.subject())
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

/// A program without signatures.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Unsigned {
    bytes: Vec<u8>,
    digest: [u8; 32],
    /// Where the entry for the certificate table stands.
    entry: usize,
}

debug_only!(Unsigned { digest });

impl Unsigned {
    pub(crate) fn new(mut bytes: Vec<u8>) -> Result<Self, SignError> {
        // The certificate table begins at a multiple of eight.
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let program = PeImage::read(&bytes)?;
        let digest = Algorithm::Sha256.hash_ranges(&bytes, &program.signed_ranges()?).map_err(PeError::Read)?;
        let entry = program.certificates_entry().and_then(|entry| usize::try_from(entry).ok());
        let (Some(digest), Some(entry)) = (digest.first_chunk().copied(), entry) else {
            return Err(SignError::Program("has no place for a signature".to_owned()));
        };
        Ok(Self { bytes, digest, entry })
    }

    /// The Authenticode digest.
    pub(crate) fn digest(&self) -> Digest {
        Digest::from_bytes(self.digest)
    }

    /// The program as it is.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the owner of the key signs.
    pub(crate) fn message(&self) -> Result<Vec<u8>, SignError> {
        Ok(self.attributes()?.to_der()?)
    }

    /// The program with a signature. Fails if the owner of the certificate has not made it.
    pub(crate) fn signed(&self, certificate: &SiteCertificate, signature: &[u8]) -> Result<Vec<u8>, SignError> {
        certificate.verify(&self.message()?, signature)?;
        let own = &certificate.parsed.tbs_certificate;
        let sid = SignerIdentifier::IssuerAndSerialNumber(IssuerAndSerialNumber {
            issuer: own.issuer.clone(),
            serial_number: own.serial_number.clone(),
        });
        let info = SignerInfo {
            version: CmsVersion::V1,
            sid,
            digest_alg: algorithm(SHA256),
            signed_attrs: Some(self.attributes()?),
            signature_algorithm: algorithm(RSA),
            signature: OctetString::new(signature)?,
            unsigned_attrs: None,
        };
        let data = SignedData {
            version: CmsVersion::V1,
            digest_algorithms: set(algorithm(SHA256))?,
            encap_content_info: EncapsulatedContentInfo {
                econtent_type: SPC_INDIRECT_DATA,
                econtent: Some(self.content()?),
            },
            certificates: Some(CertificateSet(set(CertificateChoices::Certificate(certificate.parsed.clone()))?)),
            crls: None,
            signer_infos: SignerInfos(set(info)?),
        };
        let content = ContentInfo { content_type: SIGNED_DATA, content: Any::encode_from(&data)? };
        self.attach(&content.to_der()?)
    }

    /// What the signature says about the program: its digest.
    fn content(&self) -> Result<Any, SignError> {
        let message_digest =
            DigestInfo { digest_algorithm: algorithm(SHA256), digest: OctetString::new(self.digest.as_slice())? };
        Ok(Any::encode_from(&IndirectData { data: Any::from_der(&PE_IMAGE_DATA)?, message_digest })?)
    }

    /// The attributes that are signed in its place (RFC 2315 §9.2).
    fn attributes(&self) -> Result<Attributes, SignError> {
        let attribute = |oid, value| Ok::<_, SignError>(Attribute { oid, values: set(value)? });
        let digest = Sha256::digest(self.content()?.value());
        let content_type = attribute(CONTENT_TYPE, Any::encode_from(&SPC_INDIRECT_DATA)?)?;
        let digest = attribute(MESSAGE_DIGEST, Any::encode_from(&OctetString::new(digest.as_slice())?)?)?;
        Ok(SetOfVec::try_from(vec![content_type, digest])?)
    }

    /// The program with a certificate table of one entry behind it.
    fn attach(&self, signature: &[u8]) -> Result<Vec<u8>, SignError> {
        let length = (8 + signature.len()).next_multiple_of(8);
        let number = |number: usize| u32::try_from(number).map(u32::to_le_bytes);
        let (Ok(start), Ok(length)) = (number(self.bytes.len()), number(length)) else {
            return Err(SignError::Program("is larger than 4 GiB".to_owned()));
        };
        let mut bytes = self.bytes.clone();
        put(&mut bytes, self.entry, &[start, length].concat());
        bytes.extend(length);
        bytes.extend(WIN_CERTIFICATE);
        bytes.extend(signature);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        Ok(bytes)
    }
}

fn algorithm(oid: ObjectIdentifier) -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned { oid, parameters: Some(Null.into()) }
}

fn set<T: der::DerOrd>(value: T) -> Result<SetOfVec<T>, SignError> {
    Ok(SetOfVec::try_from(vec![value])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a key with 1024 bits.
    const SHORT: &str = "MIIB/jCCAWegAwIBAgIUHqufS5+aQc4/IcTP9xIW+w0sFqUwDQYJKoZIhvcNAQELBQAwEDEOMAwGA1UEAwwFc2hvcnQwIBcNMjYxMTI4MTAyMzAxWhgPMjEyNjExMDQxMDIzMDFaMBAxDjAMBgNVBAMMBXNob3J0MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDBYLOasULwRD4H+rmNbEydRjZKlnlrpkMwxrjz70m/hHMD59B6/gxNtBZ6zVktmPRltR9oDtF20gjIha3VmDdGxRE157gaCrYBrrsU757jjNF4Gy/bxAVGoop21qGhxi5AbCjcEzJXnTx5NOTru+7h0UDRIh97h3kr2aQE/hrD/QIDAQABo1MwUTAdBgNVHQ4EFgQUAuu16HeVNP/5dC4PvRgAytYMBYEwHwYDVR0jBBgwFoAUAuu16HeVNP/5dC4PvRgAytYMBYEwDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0BAQsFAAOBgQAZOBCZjUac1DlqeynbL9qBVI5TBL4XozaL312UViDl8SsuaT8E3grQTauVjbJanGiOSQ9MVvsyaf2y1IQNFxvIlb8iZXt/nF88gGegPkBbmXJlJEReZjNcIurA8ku6UvWibSFfrtAvQDjU7fUVNDOZ9i5RWCDEU7e6UVbkGIjKSA==";

    #[test]
    fn the_length_of_a_short_key_is_said() {
        let der = data_encoding::BASE64.decode(SHORT.as_bytes()).unwrap();
        let error = SiteCertificate::from_der(der).unwrap_err();
        assert!(matches!(error, SignError::ShortKey(1024)), "{error}");
    }
}
