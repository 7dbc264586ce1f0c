//! The bearer tokens of the API.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The minimum length of a token. Somebody could guess a shorter one.
const SHORTEST: usize = 16;

/// Why dayone refuses a token. Never contains the token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// dayone cannot read the file.
    #[error("cannot read the API token file {}: {}", .0.display(), .1)]
    Read(PathBuf, std::io::Error),
    /// Its permission bits let somebody else than the owner read or change it.
    #[error(
        "not only its owner may use the API token file {} (mode {:04o}), and anyone who can read it can use the API; run \
         chmod 600 on it", .0.display(), .1
    )]
    Mode(PathBuf, u32),
    /// The file has no token.
    #[error("the API token file {} has no token; make one with: openssl rand -hex 32", .0.display())]
    Empty(PathBuf),
    /// The token is too short.
    #[error("an API token in {0} is shorter than {SHORTEST} characters; make one with: openssl rand -hex 32")]
    Short(String),
    /// The token has characters that are not valid in a header.
    #[error(
        "an API token in {0} has blanks or characters outside ASCII, which are not valid in an Authorization header"
    )]
    Characters(String),
}

/// The tokens of the API, each of which is valid. dayone keeps their digests, so that the time of a comparison does not show
/// how much of a guess is right or how long a token is. Clones share their tokens.
#[derive(Clone, Default)]
pub struct ApiTokens(Arc<RwLock<Tokens>>);

type Tokens = Vec<[u8; 32]>;

impl ApiTokens {
    /// Adds `token`. `source` names its origin in errors.
    pub fn add(&mut self, token: &str, source: &str) -> Result<(), TokenError> {
        let digest = digest(token, source)?;
        self.write().push(digest);
        Ok(())
    }

    /// Adds the tokens in the file at `path`, one a line. Several can be valid, so that you can add a new token before you remove
    /// the old one.
    pub fn add_file(&mut self, path: &Path) -> Result<(), TokenError> {
        let mut digests = read(path)?;
        self.write().append(&mut digests);
        Ok(())
    }

    /// Replaces the tokens by those of `other`, at once.
    pub fn replace(&self, other: &Self) {
        let new = other.read().clone();
        *self.write() = new;
    }

    fn read(&self) -> RwLockReadGuard<'_, Tokens> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tokens> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are no tokens, so that the API is open to every local program.
    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Whether `token` is valid.
    pub fn admit(&self, token: &str) -> bool {
        self.admit_digest(&TokenDigest::of(token))
    }

    /// Whether the token with this digest is valid.
    pub(super) fn admit_digest(&self, TokenDigest(digest): &TokenDigest) -> bool {
        // Always compare all tokens, so that the time does not show which one matched.
        self.read().iter().fold(subtle::Choice::from(0), |found, known| found | known.ct_eq(digest)).into()
    }
}

/// The digest of a token, valid or not.
pub(crate) struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The digest of `token`.
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

impl fmt::Debug for ApiTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiTokens({})", self.read().len())
    }
}

fn digest(token: &str, source: &str) -> Result<[u8; 32], TokenError> {
    let token = token.trim();
    if !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(TokenError::Characters(source.to_owned()));
    }
    if token.len() < SHORTEST {
        return Err(TokenError::Short(source.to_owned()));
    }
    Ok(Sha256::digest(token.as_bytes()).into())
}

/// Returns the digests of the tokens in a file.
fn read(path: &Path) -> Result<Vec<[u8; 32]>, TokenError> {
    let failed = |error| TokenError::Read(path.to_owned(), error);
    let mut file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(TokenError::Mode(path.to_owned(), mode));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    let tokens = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let digests: Vec<_> = tokens.map(|token| digest(token, &path.display().to_string())).collect::<Result<_, _>>()?;
    if digests.is_empty() { Err(TokenError::Empty(path.to_owned())) } else { Ok(digests) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_token_of_the_file_opens_and_nothing_else_does() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let write = |text: &str, mode| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        write("\n 0123456789abcdef \r\nfedcba9876543210\n", 0o600);
        let mut tokens = ApiTokens::default();
        assert!(tokens.is_empty());
        tokens.add_file(&path).unwrap();
        assert!(tokens.admit("0123456789abcdef") && tokens.admit("fedcba9876543210"));
        for wrong in
            ["", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef\n", "0123456789abcdeffedcba9876543210"]
        {
            assert!(!tokens.admit(wrong), "{wrong:?}");
        }
        assert_eq!(format!("{tokens:?}"), "ApiTokens(2)");

        // Other tokens take the place of these at once, also in clones.
        let shared = tokens.clone();
        write("another-0123456789\n", 0o600);
        let mut others = ApiTokens::default();
        others.add_file(&path).unwrap();
        others.add("from-the-environment", "the test").unwrap();
        tokens.replace(&others);
        let admitted = |token: &str| shared.admit(token);
        assert!(admitted("another-0123456789") && admitted("from-the-environment") && !admitted("0123456789abcdef"));
        for (text, mode) in [("", 0o600), ("0123456789abcdef\nshort\n", 0o600), ("0123456789abcdef\n", 0o644)] {
            write(text, mode);
            assert!(ApiTokens::default().add_file(&path).is_err());
        }
    }

    #[test]
    fn a_file_that_others_may_use_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0123456789abcdef\n").unwrap();
        let add = |mode| {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            ApiTokens::default().add_file(file.path())
        };
        for mode in [0o600, 0o400] {
            add(mode).unwrap();
        }
        for mode in [0o644, 0o640, 0o604, 0o620, 0o602] {
            let error = add(mode).unwrap_err().to_string();
            assert!(error.contains(&format!("mode {mode:04o}")) && error.contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn weak_tokens_are_refused_and_not_repeated() {
        let mut tokens = ApiTokens::default();
        for bad in ["", "secret", "secret secret secret", "sécret-sécret-sécret"] {
            let error = tokens.add(bad, "DAYONE_API_TOKEN").unwrap_err().to_string();
            assert!(error.contains("DAYONE_API_TOKEN") && !error.contains("secret "), "{error}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(tokens.add_file(file.path()), Err(TokenError::Empty(_))));
        assert!(tokens.is_empty());
    }
}
