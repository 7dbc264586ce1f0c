//! Who sends a request to the API.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::role::Role;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// The name of a client, for logs. Not a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientName(Arc<str>);

/// Why a text is not the name of a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the name must have 1 to {MAX_NAME_BYTES} letters, digits, dots, hyphens, underscores, colons or at signs")]
pub struct NotAClientName;

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_' | ':' | '@')
}

impl ClientName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, NotAClientName> {
        if (1..=MAX_NAME_BYTES).contains(&text.len()) && text.chars().all(is_allowed) {
            Ok(Self(text.into()))
        } else {
            Err(NotAClientName)
        }
    }

    /// Makes a name from any text: other characters become underscores.
    pub(crate) fn of_text(text: &str) -> Self {
        let allowed = |character| if is_allowed(character) { character } else { '_' };
        let name: String = text.chars().take(MAX_NAME_BYTES).map(allowed).collect();
        Self(if name.is_empty() { "_".into() } else { name.into() })
    }

    /// The name of the client whose token is in this line of a file.
    pub(super) fn of_line(path: &Path, line: usize) -> Self {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file: String = file.chars().take(MAX_NAME_BYTES - 10).collect();
        Self::of_text(&format!("{file}:{line}"))
    }

    /// The name as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// How a client has shown who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// It has shown nothing: a program on this machine, at a server without tokens.
    Local,
    /// It has a token, or a session for one.
    Token(ClientName),
    /// It has a certificate.
    Certificate(ClientName),
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => write!(f, "a program on this machine"),
            Self::Token(name) => write!(f, "the token '{name}'"),
            Self::Certificate(name) => write!(f, "the certificate '{name}'"),
        }
    }
}

/// The client of a request, whose identity is certain. Every request that a handler gets has it as an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Who it is.
    pub identity: Identity,
    /// What it may do.
    pub role: Role,
}

impl Caller {
    /// A program on this machine, at a server without tokens.
    pub(crate) const LOCAL: Self = Self { identity: Identity::Local, role: Role::Boot };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_safe_in_a_log() {
        for name in ["ci", "dashboard-2", "admin@example.com", "tokens:1"] {
            assert_eq!(ClientName::parse(name).unwrap().as_str(), name);
        }
        for wrong in ["", "a b", "a\"b", "a\nb", "ä", &"a".repeat(65)] {
            assert!(ClientName::parse(wrong).is_err(), "{wrong:?}");
            assert!(ClientName::parse(ClientName::of_text(wrong).as_str()).is_ok(), "{wrong:?}");
        }
        let line = ClientName::of_line(Path::new(&format!("/etc/{}", "a b".repeat(60))), 100_000);
        assert!(line.as_str().ends_with(":100000") && ClientName::parse(line.as_str()).is_ok(), "{line}");
    }
}
