//! Releases of NetworkManager. Each release knows more settings of profiles than the one before.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::serde_as_text;

/// Why a text is not a release of NetworkManager.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version of NetworkManager (such as 1.42.4, or a package's 1:1.54.0-1.fc43)")]
pub struct NetworkManagerVersionError(String);

/// A release of NetworkManager. Later releases are greater.
///
/// Versions of packages are read as well: `[EPOCH:]MAJOR.MINOR[.MICRO][REST]`. The epoch and the rest are ignored, because
/// dayone does not know what a distribution has backported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkManagerVersion {
    major: u16,
    minor: u16,
    micro: u16,
}

impl NetworkManagerVersion {
    /// The release that dayone assumes for a host if the documents do not give one: that of Debian 12.
    pub const ASSUMED: Self = Self::new(1, 42, 4);
    /// The oldest release of which dayone knows what it lacks.
    pub const OLDEST_KNOWN: Self = Self::new(1, 30, 0);

    /// Makes the release `major.minor.micro`.
    pub const fn new(major: u16, minor: u16, micro: u16) -> Self {
        Self { major, minor, micro }
    }

    /// Whether both releases have the same first two numbers, so that they differ only in bug fixes.
    pub fn is_in_series_of(self, other: Self) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }

    /// Returns the name of the series: the first two numbers.
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

/// Splits the number at the beginning of a text from what follows it.
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

serde_as_text!(NetworkManagerVersion, NetworkManagerVersionError);

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
