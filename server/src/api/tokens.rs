//! The bearer tokens that open the API.

use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The fewest characters of a token. A shorter one could be found by trying.
const SHORTEST: usize = 16;

/// Why a token cannot be used. Never says the token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the API token file {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file holds no token.
    #[error("the API token file {} holds no token; make one with: openssl rand -hex 32", .0.display())]
    Empty(PathBuf),
    /// Too short.
    #[error("an API token in {0} is shorter than {SHORTEST} characters; make one with: openssl rand -hex 32")]
    Short(String),
    /// Characters that a header cannot carry.
    #[error("an API token in {0} has blanks or characters outside ASCII, which an Authorization header cannot carry")]
    Characters(String),
}

/// The tokens that open the API, any of them. Held as digests: what is compared tells nothing, by its time, about how
/// much of a guess was right or how long a token is.
#[derive(Clone, Default)]
pub struct ApiTokens(Vec<[u8; 32]>);

impl ApiTokens {
    /// Adds `token`. `source` is what to call the place that it comes from.
    pub fn add(&mut self, token: &str, source: &str) -> Result<(), TokenError> {
        let token = token.trim();
        if !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(TokenError::Characters(source.to_owned()));
        }
        if token.len() < SHORTEST {
            return Err(TokenError::Short(source.to_owned()));
        }
        self.0.push(Sha256::digest(token.as_bytes()).into());
        Ok(())
    }

    /// Adds the tokens in the file at `path`, one a line, so that a new one can come in before the old one goes.
    pub fn add_file(&mut self, path: &Path) -> Result<(), TokenError> {
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|error| TokenError::Read { path: path.to_owned(), error })?;
        let mut tokens = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
        if tokens.peek().is_none() {
            return Err(TokenError::Empty(path.to_owned()));
        }
        tokens.try_for_each(|token| self.add(token, &path.display().to_string()))
    }

    /// Whether there are none, and the API is open to all who reach it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `token` is one of them.
    pub fn admit(&self, token: &str) -> bool {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        // All of them, always: which one was right is not for the clock to tell.
        self.0.iter().fold(subtle::Choice::from(0), |found, known| found | known.ct_eq(&digest)).into()
    }
}

impl fmt::Debug for ApiTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiTokens({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_token_of_the_file_opens_and_nothing_else_does() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        std::fs::write(&path, "\n 0123456789abcdef \r\nfedcba9876543210\n").unwrap();
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
