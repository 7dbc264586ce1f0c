//! Units of systemd-networkd as they go into an image.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::checked_text;

/// Why a text is not the name of a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not the name of a systemd-networkd unit: {reason}")]
pub struct NetworkdUnitNameError {
    name: String,
    reason: &'static str,
}

/// The base name of a unit, such as `10-eth0.network`: letters, digits, `.`, `_`, `@` and `-` only, no leading dot,
/// `.network`, `.netdev` or `.link` at the end, 255 bytes at most.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkdUnitName(String);

checked_text!(NetworkdUnitName, NetworkdUnitNameError);

impl FromStr for NetworkdUnitName {
    type Err = NetworkdUnitNameError;

    fn from_str(name: &str) -> Result<Self, NetworkdUnitNameError> {
        let refuse = |reason| Err(NetworkdUnitNameError { name: name.chars().take(256).collect(), reason });
        let Some((stem, "network" | "netdev" | "link")) = name.rsplit_once('.') else {
            return refuse("it does not end in .network, .netdev or .link");
        };
        if stem.is_empty() || stem.starts_with('.') {
            return refuse("nothing, or a dot, stands at its beginning");
        }
        if name.len() > 255 {
            return refuse("it is longer than 255 bytes");
        }
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'@' | b'-')) {
            return refuse("only letters, digits, '.', '_', '@' and '-' are allowed");
        }
        Ok(Self(name.to_owned()))
    }
}

/// One unit of systemd-networkd (`systemd.network(5)`, `systemd.netdev(5)`, `systemd.link(5)`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkdUnit {
    /// Its file name.
    pub name: NetworkdUnitName,
    /// Its content.
    pub content: String,
}

impl fmt::Debug for NetworkdUnit {
    /// Without the content, which may hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkdUnit").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_networkd_reads_and_stay_in_their_directory() {
        for good in ["10-eth0.network", "bond0.20.netdev", "00-uplink.link"] {
            assert_eq!(good.parse::<NetworkdUnitName>().unwrap().as_str(), good);
        }
        let long = format!("{}.network", "a".repeat(248));
        for bad in ["", ".network", "..network", "eth0", "eth0.conf", "../eth0.network", "a b.link", "a\n.link", &long]
        {
            assert!(bad.parse::<NetworkdUnitName>().is_err(), "{bad}");
        }
    }
}
