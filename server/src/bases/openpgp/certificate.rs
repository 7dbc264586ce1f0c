//! A publisher's key, with its subkeys: which of them may sign now (RFC 9580 §5.2.3, §10.1).

use std::fmt;
use std::io::{self, Read};
use std::time::SystemTime;

use pgp::composed::{SignedKeyDetails, SignedPublicKey, SignedPublicSubKey};
use pgp::packet::{self, KeyFlags, Signature, SignatureType};
use pgp::types::{
    Duration, EcdsaPublicParams, EddsaLegacyPublicParams, Fingerprint, KeyDetails, PublicParams, Tag, Timestamp,
};

use super::error::SignatureError;

/// A publisher's key, with its subkeys.
#[derive(Clone)]
pub(super) struct Certificate(SignedPublicKey);

/// A key of a certificate that may sign now.
pub(super) struct Signer<'a> {
    certificate: &'a Certificate,
    /// `None`: the primary key.
    subkey: Option<&'a packet::PublicSubkey>,
}

impl Certificate {
    pub(super) fn new(key: SignedPublicKey) -> Self {
        Self(key)
    }

    /// Whether this is a copy of its key.
    pub(super) fn is_of(&self, key: &SignedPublicKey) -> bool {
        self.0.primary_key.fingerprint() == key.primary_key.fingerprint()
    }

    /// Adds what another copy says: signatures of the key, users and subkeys. Each signature is verified when it matters.
    pub(super) fn merge(&mut self, copy: SignedPublicKey) {
        let SignedKeyDetails { revocation_signatures, direct_signatures, users, .. } = copy.details;
        let details = &mut self.0.details;
        add(&mut details.revocation_signatures, revocation_signatures);
        add(&mut details.direct_signatures, direct_signatures);
        for user in users {
            match details.users.iter_mut().find(|known| known.id.id() == user.id.id()) {
                Some(known) => add(&mut known.signatures, user.signatures),
                None => details.users.push(user),
            }
        }
        for subkey in copy.public_subkeys {
            let same = |known: &&mut SignedPublicSubKey| known.key.fingerprint() == subkey.key.fingerprint();
            match self.0.public_subkeys.iter_mut().find(same) {
                Some(known) => add(&mut known.signatures, subkey.signatures),
                None => self.0.public_subkeys.push(subkey),
            }
        }
    }

    /// Adds a revocation if the owner of this key has made it for this key. Returns whether that is so.
    pub(super) fn revoke(&mut self, revocation: &Signature) -> bool {
        let is_owners = revocation.verify_key(&self.0.primary_key).is_ok();
        if is_owners {
            add(&mut self.0.details.revocation_signatures, vec![revocation.clone()]);
        }
        is_owners
    }

    /// The fingerprint, and whose key it is.
    pub(super) fn describe(&self) -> String {
        let fingerprint = shown(&self.0.primary_key.fingerprint());
        match self.0.details.users.first().and_then(|user| user.id.as_str()) {
            Some(user) => format!("{fingerprint} ({})", user.escape_debug()),
            None => fingerprint,
        }
    }

    /// The key that a signature names, if it is one of these, or why it may not sign.
    pub(super) fn signer(&self, signature: &Signature) -> Option<Result<Signer<'_>, SignatureError>> {
        if names(signature, &self.0.primary_key) {
            let usable = self.supported(&self.0.primary_key).and_then(|()| self.usable());
            let usable = usable.and_then(|flags| self.for_signing(flags.is_none_or(|flags| flags.sign())));
            return Some(usable.map(|()| Signer { certificate: self, subkey: None }));
        }
        let subkey = self.0.public_subkeys.iter().find(|subkey| names(signature, &subkey.key))?;
        // The primary key must have signed the subkey.
        let supported = self.supported(&self.0.primary_key).and_then(|()| self.supported(&subkey.key));
        let usable = supported.and_then(|()| self.usable()).and_then(|_| self.usable_subkey(subkey));
        Some(usable.map(|()| Signer { certificate: self, subkey: Some(&subkey.key) }))
    }

    /// Checks that dayone can verify signatures of this key. The library knows `secp256k1`, but refuses half of the signatures that `GnuPG` makes
    /// with it, and `OpenPGP` does not have this curve (RFC 9580 §9.2).
    fn supported(&self, key: &impl KeyDetails) -> Result<(), SignatureError> {
        let kind = match key.public_params() {
            PublicParams::ECDSA(
                key @ (EcdsaPublicParams::Secp256k1 { .. } | EcdsaPublicParams::Unsupported { .. }),
            ) => key.curve().name().to_owned(),
            PublicParams::EdDSALegacy(key @ EddsaLegacyPublicParams::Unsupported { .. }) => {
                key.curve().name().to_owned()
            }
            PublicParams::Unknown { .. } => "an unknown algorithm".to_owned(),
            _ => return Ok(()),
        };
        Err(SignatureError::UnsupportedKey(kind, self.describe()))
    }

    /// Checks that the primary key is neither revoked nor expired, and returns what it is for, if its owner has said.
    fn usable(&self) -> Result<Option<KeyFlags>, SignatureError> {
        let key = &self.0.primary_key;
        let details = &self.0.details;
        if details.revocation_signatures.iter().any(|revocation| revocation.verify_key(key).is_ok()) {
            return Err(SignatureError::KeyRevoked(self.describe()));
        }
        let direct = details.direct_signatures.iter().filter(|signature| signature.verify_key(key).is_ok());
        let users = details.users.iter().flat_map(|user| {
            let by_owner = |signature: &&Signature| signature.verify_certification(key, Tag::UserId, &user.id).is_ok();
            let revoked = user.signatures.iter().filter(by_owner).any(is_revocation);
            user.signatures.iter().filter(move |signature| !revoked && by_owner(signature))
        });
        // The owner's last word counts, for example about a new end.
        let last = direct.chain(users).max_by_key(|signature| signature.created());
        let last = last.ok_or_else(|| SignatureError::NotForSigning(self.describe()))?;
        let lifetime = last.key_expiration_time();
        let end = lifetime.and_then(|lifetime| end(time(key.created_at()), lifetime));
        if end.is_some_and(|end| end < SystemTime::now()) {
            return Err(SignatureError::KeyExpired(self.describe()));
        }
        Ok(Some(last.key_flags()).filter(|flags| *flags != KeyFlags::default()))
    }

    /// Checks that a subkey belongs to the primary key, is for signing, and is neither revoked nor expired.
    fn usable_subkey(&self, subkey: &SignedPublicSubKey) -> Result<(), SignatureError> {
        let primary = &self.0.primary_key;
        let bound =
            || subkey.signatures.iter().filter(|binding| binding.verify_subkey_binding(primary, &subkey.key).is_ok());
        if bound().any(is_revocation) {
            return Err(SignatureError::KeyRevoked(self.describe()));
        }
        let last = bound().max_by_key(|binding| binding.created());
        let last = last.ok_or_else(|| SignatureError::NotForSigning(self.describe()))?;
        let end = last.key_expiration_time().and_then(|lifetime| end(time(subkey.key.created_at()), lifetime));
        if end.is_some_and(|end| end < SystemTime::now()) {
            return Err(SignatureError::KeyExpired(self.describe()));
        }
        // Otherwise somebody could claim another's key as a subkey.
        let back = last.embedded_signature();
        let agreed = back.is_some_and(|back| back.verify_primary_key_binding(&subkey.key, primary).is_ok());
        self.for_signing(last.key_flags().sign() && agreed)
    }

    fn for_signing(&self, is: bool) -> Result<(), SignatureError> {
        if is { Ok(()) } else { Err(SignatureError::NotForSigning(self.describe())) }
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Signer<'_> {
    /// Checks that this key has made the signature of `data`, and returns whose key it is.
    pub(super) fn verify(&self, signature: &Signature, data: &mut impl Read) -> Result<String, SignatureError> {
        let mut data = Reader { data, error: None };
        let verified = match self.subkey {
            Some(subkey) => signature.verify(subkey, &mut data),
            None => signature.verify(&self.certificate.0.primary_key, &mut data),
        };
        let who = self.certificate.describe();
        match (data.error, verified) {
            (Some(error), _) => Err(SignatureError::Read(error)),
            (None, Ok(())) => Ok(who),
            (None, Err(_)) => Err(SignatureError::Forged(who)),
        }
    }
}

/// Keeps the error of reading, which would look like that of a forged file.
struct Reader<'a, R> {
    data: &'a mut R,
    error: Option<String>,
}

impl<R: Read> Read for Reader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.data.read(buffer).inspect_err(|error| self.error = Some(error.to_string()))
    }
}

/// Adds the signatures that are new.
fn add(known: &mut Vec<Signature>, more: Vec<Signature>) {
    for signature in more {
        if !known.contains(&signature) {
            known.push(signature);
        }
    }
}

fn is_revocation(signature: &Signature) -> bool {
    matches!(
        signature.typ(),
        Some(SignatureType::CertRevocation | SignatureType::SubkeyRevocation | SignatureType::KeyRevocation)
    )
}

/// Whether a signature names this key as the one that made it.
fn names(signature: &Signature, key: &impl KeyDetails) -> bool {
    let fingerprints = signature.issuer_fingerprint();
    if fingerprints.is_empty() {
        return signature.issuer_key_id().contains(&&key.legacy_key_id());
    }
    fingerprints.contains(&&key.fingerprint())
}

fn shown(fingerprint: &Fingerprint) -> String {
    fingerprint.to_string().to_uppercase()
}

/// When something that was made at a time ends. A lifetime of zero has no end.
pub(super) fn end(created: SystemTime, lifetime: Duration) -> Option<SystemTime> {
    let lifetime: std::time::Duration = lifetime.into();
    (!lifetime.is_zero()).then(|| created + lifetime)
}

/// A time of a packet.
pub(super) fn time(timestamp: Timestamp) -> SystemTime {
    timestamp.into()
}

#[cfg(test)]
mod tests {
    use crate::bases::openpgp::Keyring;

    #[test]
    fn the_bundled_keys_may_sign_now() {
        for certificate in Keyring::bundled().0.iter() {
            let primary = certificate.usable().is_ok_and(|flags| flags.is_none_or(|flags| flags.sign()));
            let mut subkeys = certificate.0.public_subkeys.iter();
            let may_sign = primary || subkeys.any(|subkey| certificate.usable_subkey(subkey).is_ok());
            assert!(may_sign, "{}", certificate.describe());
        }
    }
}
