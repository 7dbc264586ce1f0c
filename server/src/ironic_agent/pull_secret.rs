//! The pull secret of the agent's image.

use std::fmt;

use base64::prelude::*;
use serde_json::{Map, Value};

use super::AgentError;

/// The container tools' `auth.json` (`containers-auth.json(5)`).
#[derive(Clone, PartialEq, Eq)]
pub struct PullSecret(Vec<u8>);

impl PullSecret {
    /// Reads base64 as the program `base64` writes it, with or without line breaks and padding. Also accepts plain JSON: base64
    /// never begins with a brace.
    pub fn from_base64(text: &[u8]) -> Result<Self, AgentError> {
        let text = text.trim_ascii();
        let json = if text.starts_with(b"{") {
            text.to_vec()
        } else {
            let encoded: Vec<u8> = text.iter().copied().filter(|b| !b.is_ascii_whitespace() && *b != b'=').collect();
            BASE64_STANDARD_NO_PAD.decode(&encoded).map_err(|_| AgentError::PullSecretEncoding)?
        };
        match serde_json::from_slice::<Map<String, Value>>(&json) {
            Ok(_) => Ok(Self(json)),
            Err(_) => Err(AgentError::PullSecretJson),
        }
    }

    /// The secret in base64, in one line.
    pub(super) fn to_base64(&self) -> String {
        BASE64_STANDARD.encode(&self.0)
    }
}

impl fmt::Debug for PullSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PullSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = r#"{"auths":{"a":{"auth":"tops3cret"}}}"#;

    #[test]
    fn pull_secrets_are_json_in_base64_however_it_is_wrapped() {
        let parse = |text: &str| PullSecret::from_base64(text.as_bytes()).map(|secret| secret.to_base64());
        let encoded = BASE64_STANDARD.encode(format!("{SECRET} "));
        assert!(encoded.ends_with('='));
        let (first, second) = encoded.split_at(20);
        for text in [encoded.clone(), format!(" {first}\r\n{second}\n"), encoded.trim_end_matches('=').to_owned()] {
            assert_eq!(parse(&text), Ok(encoded.clone()));
        }
        assert_eq!(parse(&format!("\n{SECRET} \n")), parse(SECRET));
        assert_eq!(parse("tops3cret!"), Err(AgentError::PullSecretEncoding));
        let twice = BASE64_STANDARD.encode(&encoded);
        for not_json in [&twice, "dG9wczNjcmV0", "W10=", "{tops3cret", " \n"] {
            let error = parse(not_json).unwrap_err();
            assert_eq!(error, AgentError::PullSecretJson);
            assert!(!error.to_string().contains("tops3cret"));
        }
    }
}
