//! Bearer tokens, of which dayone keeps only the digests.

use data_encoding::HEXLOWER_PERMISSIVE;
use sha2::{Digest as _, Sha256};

/// The minimum length of a token. Somebody could guess a shorter one.
pub(super) const SHORTEST: usize = 16;

/// Why a text is no token, or not the digest of one. Never contains the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token is too short.
    #[error("an API token in {0} is shorter than {SHORTEST} characters; make one with: openssl rand -hex 32")]
    Short(String),
    /// The token has characters that are not valid in a header.
    #[error(
        "an API token in {0} has blanks or characters outside ASCII, which are not valid in an Authorization header"
    )]
    Characters(String),
}

/// The digest of a token, valid or not. The time of comparing digests does not show how much of a guess is right or how long a
/// token is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenDigest(pub(super) [u8; 32]);

impl TokenDigest {
    /// The digest of `token`.
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The digest of a token that is hard to guess. `source` names its origin in errors.
    pub(super) fn of_strong(token: &str, source: &str) -> Result<Self, TokenError> {
        let token = token.trim();
        if !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(TokenError::Characters(source.to_owned()));
        }
        if token.len() < SHORTEST {
            return Err(TokenError::Short(source.to_owned()));
        }
        Ok(Self::of(token))
    }

    /// Parses 64 hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?;
        bytes.try_into().ok().map(Self)
    }
}
