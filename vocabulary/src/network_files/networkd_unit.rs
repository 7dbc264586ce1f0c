//! Units of systemd-networkd as they go into an image.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::file_name::{self, NetworkFileNameError};
use crate::checked_text;

/// The base name of a unit, such as `10-eth0.network`: letters, digits, `.`, `_`, `@` and `-` only, no leading dot,
/// `.network`, `.netdev` or `.link` at the end, at most 255 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkdUnitName(String);

checked_text!(NetworkdUnitName, NetworkFileNameError);

impl FromStr for NetworkdUnitName {
    type Err = NetworkFileNameError;

    fn from_str(name: &str) -> Result<Self, NetworkFileNameError> {
        file_name::check(name, "the name of a systemd-networkd unit", &[".network", ".netdev", ".link"], "_@-")
            .map(Self)
    }
}

/// One unit of systemd-networkd (`systemd.network(5)`, `systemd.netdev(5)`, `systemd.link(5)`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkdUnit {
    /// The file name.
    pub name: NetworkdUnitName,
    /// The content of the file.
    pub content: String,
}

impl fmt::Debug for NetworkdUnit {
    /// Leaves the content out, because it may contain keys.
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
