//! Why a signature is refused.

/// Why a signature does not show that a file is the one that its publisher has signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The file with the signature has none.
    #[error("the signature is not an OpenPGP signature: {0}")]
    Parse(String),
    /// It is of another kind.
    #[error("the signature is not a signature of a file's bytes")]
    Kind,
    /// Its digest can be forged, or is too rare to be accepted.
    #[error("the signature uses the digest {0}; dayone accepts SHA-256, SHA-384, SHA-512, SHA3-256 and SHA3-512")]
    Digest(String),
    /// The key is unknown.
    #[error("the key that made the signature, {0}, is none of the trusted keys ({1})")]
    UnknownKey(String, String),
    /// The bytes are not the signed ones.
    #[error("the signature does not fit the file: it is another file, or a forged one (key {0})")]
    Forged(String),
    /// The signature is from the future.
    #[error("the signature was made in the future: check this machine's clock")]
    Future,
    /// The signature has an end, which is past.
    #[error("the signature has expired")]
    Expired,
    /// The key has an end, which is past.
    #[error("the key that made the signature has expired: {0}")]
    KeyExpired(String),
    /// The owner of the key has revoked it.
    #[error("the key that made the signature was revoked: {0}")]
    KeyRevoked(String),
    /// dayone cannot verify signatures of such a key. With the kind of the key, and whose it is.
    #[error("dayone does not support keys of the kind that made the signature, {0}: {1}")]
    UnsupportedKey(String, String),
    /// The key is not for signatures, or its owner has not confirmed it.
    #[error("the key that made the signature is not a signing key: {0}")]
    NotForSigning(String),
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Read(String),
}
