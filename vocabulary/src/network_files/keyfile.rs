//! NetworkManager keyfiles as they go into an image.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::checked_text;

/// Why a text is not the name of a keyfile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a keyfile name: {reason}")]
pub struct KeyfileNameError {
    name: String,
    reason: &'static str,
}

/// The base name of a keyfile, such as `eth0.nmconnection`: letters, digits, `.`, `_` and `-` only, no leading
/// dot, `.nmconnection` at the end, 255 bytes at most. It can neither leave its directory nor be a file that
/// NetworkManager ignores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyfileName(String);

checked_text!(KeyfileName, KeyfileNameError);

impl KeyfileName {
    /// The suffix that NetworkManager demands outside `/etc` and that people expect everywhere.
    pub const SUFFIX: &'static str = ".nmconnection";
}

impl FromStr for KeyfileName {
    type Err = KeyfileNameError;

    fn from_str(name: &str) -> Result<Self, KeyfileNameError> {
        let refuse = |reason| Err(KeyfileNameError { name: name.to_owned(), reason });
        let Some(stem) = name.strip_suffix(Self::SUFFIX) else {
            return refuse("it does not end in .nmconnection");
        };
        if stem.is_empty() || stem.starts_with('.') {
            return refuse("nothing, or a dot, stands at its beginning");
        }
        if name.len() > 255 {
            return refuse("it is longer than 255 bytes");
        }
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
            return refuse("only letters, digits, '.', '_' and '-' are allowed");
        }
        Ok(Self(name.to_owned()))
    }
}

/// One NetworkManager connection profile (`nm-settings-keyfile(5)`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Keyfile {
    /// Its file name.
    pub name: KeyfileName,
    /// Its content.
    pub content: String,
}

impl fmt::Debug for Keyfile {
    /// Without the content, which may hold 802.1X passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyfile").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        let longest = format!("{}.nmconnection", "a".repeat(242));
        for good in ["eth0.nmconnection", "bond0.20.nmconnection", longest.as_str()] {
            assert!(good.parse::<KeyfileName>().is_ok(), "{good}");
        }
        let too_long = format!("a{longest}");
        for bad in [
            "",
            ".nmconnection",
            "eth0",
            "../x.nmconnection",
            ".eth0.nmconnection",
            "a b.nmconnection",
            "a\n.nmconnection",
            &too_long,
        ] {
            assert!(bad.parse::<KeyfileName>().is_err(), "{bad}");
        }
    }
}
