//! The roles of the API's clients.

use std::fmt;
use std::str::FromStr;

/// What a client of the API may do. A greater role includes the smaller ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Read lists, images, boots, bases, events, metrics and the page, but no URL of an image: such a URL is a credential.
    Read,
    /// Also check and convert documents, and make and delete images.
    Build,
    /// Also boot hosts, and add and remove bases: everything.
    Boot,
}

/// Why a text is not a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the role must be read, build or boot")]
pub struct NotARole;

impl Role {
    /// All roles, the smallest one first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Build, Self::Boot];

    /// The name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Build => "build",
            Self::Boot => "boot",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Role {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Self, NotARole> {
        Self::ALL.into_iter().find(|role| role.word() == text).ok_or(NotARole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_one_name_and_each_includes_the_smaller_ones() {
        assert!(Role::ALL.is_sorted());
        for role in Role::ALL {
            assert_eq!(role.word().parse(), Ok(role));
        }
        for wrong in ["", "READ", "admin", "read "] {
            assert_eq!(wrong.parse::<Role>(), Err(NotARole));
        }
    }
}
