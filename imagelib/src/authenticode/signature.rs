//! Authenticode signatures: PKCS #7 with the digest of a program (Microsoft's "Windows Authenticode Portable Executable
//! Signature Format").
//!
//! `cms` reads them. The crate `authenticode` would as well, but panics on a signature without certificates.

use cms::cert::CertificateChoices;
use cms::content_info::ContentInfo;
use cms::signed_data::{SignedData, SignerIdentifier, SignerInfo};
use der::asn1::{ObjectIdentifier, OctetString};
use der::{Any, Decode as _, Encode as _, Sequence, SliceReader};
use x509_cert::spki::AlgorithmIdentifierOwned;

use super::certificate::{Certificate, Verified};
use super::hash::Algorithm;

pub(super) const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
pub(super) const SPC_INDIRECT_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.311.2.1.4");
pub(super) const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");

/// Why a signature cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignatureError {
    #[error("it is not valid PKCS #7: {0}")]
    Der(#[from] der::Error),
    #[error("{0}")]
    Content(&'static str),
}

/// What Authenticode signs.
#[derive(Debug, Sequence)]
pub(super) struct IndirectData {
    pub(super) data: Any,
    pub(super) message_digest: DigestInfo,
}

#[derive(Debug, Sequence)]
pub(super) struct DigestInfo {
    pub(super) digest_algorithm: AlgorithmIdentifierOwned,
    pub(super) digest: OctetString,
}

/// A signature.
#[derive(Debug)]
pub(crate) struct Authenticode {
    /// How the digest of the program is computed.
    pub(crate) algorithm: Algorithm,
    /// The digest of the program that was signed.
    pub(crate) digest: Vec<u8>,
    /// Who has signed.
    pub(crate) signer: Certificate,
    /// The other certificates beside the signature, which may lead to an authority.
    pub(crate) others: Vec<Certificate>,
    /// Whether the signer has signed that digest.
    pub(crate) verified: Verified,
}

impl Authenticode {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, SignatureError> {
        // Zeros may follow.
        let content = ContentInfo::decode(&mut SliceReader::new(bytes)?)?;
        if content.content_type != SIGNED_DATA {
            return Err(SignatureError::Content("it is no signature"));
        }
        let data: SignedData = content.content.decode_as()?;
        if data.encap_content_info.econtent_type != SPC_INDIRECT_DATA {
            return Err(SignatureError::Content("it does not sign a program"));
        }
        let content = data.encap_content_info.econtent.ok_or(SignatureError::Content("it signs nothing"))?;
        let indirect: IndirectData = content.decode_as()?;
        let algorithm = Algorithm::of(indirect.message_digest.digest_algorithm.oid)
            .ok_or(SignatureError::Content("dayone does not know its digest algorithm"))?;
        let [info] = data.signer_infos.0.as_slice() else {
            return Err(SignatureError::Content("it does not have exactly one signer"));
        };
        let SignerIdentifier::IssuerAndSerialNumber(name) = &info.sid else {
            return Err(SignatureError::Content("it does not name the certificate of its signer"));
        };
        let certificates = data.certificates.iter().flat_map(|set| set.0.iter());
        let certificates = certificates.filter_map(|choice| match choice {
            CertificateChoices::Certificate(certificate) => Certificate::new(certificate.clone()),
            CertificateChoices::Other(_) => None,
        });
        let (signers, others): (Vec<_>, Vec<_>) = certificates.partition(|certificate| certificate.is(name));
        let signer = signers.into_iter().next();
        let signer = signer.ok_or(SignatureError::Content("the certificate of its signer is missing"))?;
        let verified = verify(info, &signer, content.value())?;
        let digest = indirect.message_digest.digest.into_bytes();
        Ok(Self { algorithm, digest, signer, others, verified })
    }
}

/// Whether the signer has signed the content (RFC 2315 §9.3 and §9.4): it signs attributes, one of which is the digest of the
/// content.
fn verify(info: &SignerInfo, signer: &Certificate, content: &[u8]) -> Result<Verified, SignatureError> {
    let Some(algorithm) = Algorithm::of(info.digest_alg.oid) else { return Ok(Verified::Unknown) };
    let Some(attributes) = &info.signed_attrs else {
        return Ok(signer.has_signed(algorithm, content, info.signature.as_bytes()));
    };
    let digest = attributes.iter().find(|attribute| attribute.oid == MESSAGE_DIGEST);
    let digest = digest.and_then(|attribute| attribute.values.iter().next());
    let digest: OctetString =
        digest.ok_or(SignatureError::Content("it lacks the digest of what it signs"))?.decode_as()?;
    if digest.as_bytes() != algorithm.hash(content) {
        return Ok(Verified::No);
    }
    Ok(signer.has_signed(algorithm, &attributes.to_der()?, info.signature.as_bytes()))
}
