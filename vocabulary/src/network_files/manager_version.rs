//! Releases of NetworkManager: what a profile can ask for depends on them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a text is not a release of NetworkManager.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version of NetworkManager (such as 1.42.4, or a package's 1:1.54.0-1.fc43)")]
pub struct NetworkManagerVersionError(String);

/// A release of NetworkManager, without what a distribution adds to its number. Later ones are greater.
///
/// It is read from packages' versions, too, `[EPOCH:]MAJOR.MINOR[.MICRO][REST]`, of which epoch and rest do not count:
/// what a distribution carries back to an older release is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkManagerVersion {
    major: u16,
    minor: u16,
    micro: u16,
}

impl NetworkManagerVersion {
    /// What is taken for a host's release where none is known: that of Debian 12.
    pub const ASSUMED: Self = Self::new(1, 42, 4);
    /// What older releases lack is not known here.
    pub const OLDEST_KNOWN: Self = Self::new(1, 30, 0);

    /// The release `major.minor.micro`.
    pub const fn new(major: u16, minor: u16, micro: u16) -> Self {
        Self { major, minor, micro }
    }

    /// Whether `other` has the same first two numbers, so that one of the two is a later mend of the other.
    pub fn is_in_series_of(self, other: Self) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }

    /// The first two numbers, by which a series of releases is called.
    pub fn series(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }
}

impl FromStr for NetworkManagerVersion {
    type Err = NetworkManagerVersionError;

    fn from_str(text: &str) -> Result<Self, NetworkManagerVersionError> {
        read(text).ok_or_else(|| NetworkManagerVersionError(text.chars().take(64).collect()))
    }
}

fn read(text: &str) -> Option<NetworkManagerVersion> {
    let release = match text.split_once(':') {
        Some((epoch, rest)) if epoch.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => text,
    };
    let (major, rest) = number(release)?;
    let (minor, rest) = number(rest.strip_prefix('.')?)?;
    let (micro, rest) = match rest.strip_prefix('.') {
        Some(rest) => number(rest)?,
        None => (0, rest),
    };
    let ends = rest.is_empty() || rest.starts_with(['-', '+', '~', '.', '_']);
    ends.then_some(NetworkManagerVersion { major, minor, micro })
}

/// The number at the beginning of a text, and what follows it.
fn number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

impl fmt::Display for NetworkManagerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}

impl TryFrom<String> for NetworkManagerVersion {
    type Error = NetworkManagerVersionError;

    fn try_from(text: String) -> Result<Self, NetworkManagerVersionError> {
        text.parse()
    }
}

impl From<NetworkManagerVersion> for String {
    fn from(version: NetworkManagerVersion) -> Self {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> NetworkManagerVersion {
        text.parse().unwrap()
    }

    #[test]
    fn releases_are_read_from_packages_too_and_ordered_by_number() {
        for (text, release) in [
            ("1.42.4", "1.42.4"),
            ("1.42.4-1+deb12u1", "1.42.4"),
            ("1:1.54.0-1.fc43", "1.54.0"),
            ("1.30.0-0.rc1", "1.30.0"),
            ("1.46", "1.46.0"),
            ("1.52.0~rc2", "1.52.0"),
        ] {
            assert_eq!(version(text).to_string(), release, "{text}");
        }
        assert!(version("1.9.10") < version("1.42.4"));
        assert!(version("1.42") >= NetworkManagerVersion::new(1, 42, 0));
        for bad in ["", "1", "1.", "v1.42.4", "1.42.x", "1.42.4rc", "x:1.42.4", "1.70000.0", "-1.2.3", "1.42 .4"] {
            assert!(bad.parse::<NetworkManagerVersion>().is_err(), "{bad}");
        }
    }
}
