//! NetworkManager keyfiles as they go into an image.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::file_name::{self, NetworkFileNameError};
use crate::checked_text;

/// The base name of a keyfile, such as `eth0.nmconnection`: letters, digits, `.`, `_` and `-` only, no leading
/// dot, `.nmconnection` at the end, at most 255 bytes. It cannot leave its directory, and NetworkManager does not ignore it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyfileName(String);

checked_text!(KeyfileName, NetworkFileNameError);

impl KeyfileName {
    /// The suffix of keyfiles. NetworkManager requires it outside `/etc`.
    pub const SUFFIX: &'static str = ".nmconnection";
}

impl FromStr for KeyfileName {
    type Err = NetworkFileNameError;

    fn from_str(name: &str) -> Result<Self, NetworkFileNameError> {
        file_name::check(name, "a keyfile name", &[Self::SUFFIX], "_-").map(Self)
    }
}

/// One NetworkManager connection profile (`nm-settings-keyfile(5)`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Keyfile {
    /// The file name.
    pub name: KeyfileName,
    /// The content of the file.
    pub content: String,
}

impl fmt::Debug for Keyfile {
    /// Leaves the content out, because it may contain 802.1X passwords.
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
