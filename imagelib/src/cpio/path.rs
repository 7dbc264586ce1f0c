//! Paths of members.

use std::borrow::Borrow;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{PATH_MAX, TRAILER};

use vocabulary::checked_text;

/// Why a text is not a valid [`MemberPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} cannot be a path in an initramfs: {reason}")]
pub struct MemberPathError {
    path: String,
    reason: &'static str,
}

/// The path of a member, relative to the root of the initramfs. It has no `.`, `..` or empty components and no control
/// characters, at most 255 bytes in each component, and at most 4095 bytes in all. The kernel itself would follow a `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MemberPath(String);

checked_text!(MemberPath, MemberPathError);

impl MemberPath {
    /// Its directory; `None` if that is the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.to_owned()))
    }

    /// All directories above it, the outermost first.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        self.0.match_indices('/').filter_map(|(end, _)| self.0.get(..end)).map(|parent| Self(parent.to_owned()))
    }
}

impl FromStr for MemberPath {
    type Err = MemberPathError;

    fn from_str(path: &str) -> Result<Self, MemberPathError> {
        let refuse = |reason| Err(MemberPathError { path: path.chars().take(256).collect(), reason });
        if path.is_empty() {
            return refuse("it is empty");
        }
        if path.len() >= PATH_MAX as usize {
            return refuse("it is longer than 4095 bytes");
        }
        if path.starts_with('/') {
            return refuse("it begins with '/'; write it relative to the root");
        }
        // The kernel would take it for the end of the archive.
        if path == TRAILER {
            return refuse("it is the name that ends an archive");
        }
        if path.chars().any(char::is_control) {
            return refuse("it holds a control character");
        }
        for component in path.split('/') {
            match component {
                "" => return refuse("it has an empty component"),
                "." | ".." => return refuse("'.' and '..' are not allowed"),
                long if long.len() > 255 => return refuse("a component is longer than 255 bytes"),
                _ => {}
            }
        }
        Ok(Self(path.to_owned()))
    }
}

impl Borrow<str> for MemberPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}
