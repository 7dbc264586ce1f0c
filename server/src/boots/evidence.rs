//! What shows that a host has booted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One kind of sign that a host's own system runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The host itself asks dayone for the image's call-home address, over the network that it was given.
    CallHome,
    /// The BMC says that an operating system runs (`BootProgress.LastState`, `ComputerSystem` 1.13 and later).
    BootProgress,
    /// One of the host's static addresses answers.
    Reachable,
    /// The host reads the image. It shows that the firmware boots from it, and no more.
    Reading,
}

/// Not a kind of evidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of: call-home, boot-progress, reachable, reading")]
pub struct NotEvidence(String);

impl Evidence {
    /// Its name, as the API and records have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallHome => "call-home",
            Self::BootProgress => "boot-progress",
            Self::Reachable => "reachable",
            Self::Reading => "reading",
        }
    }
}

impl FromStr for Evidence {
    type Err = NotEvidence;

    fn from_str(text: &str) -> Result<Self, NotEvidence> {
        let all = [Self::CallHome, Self::BootProgress, Self::Reachable, Self::Reading];
        all.into_iter().find(|evidence| evidence.as_str() == text).ok_or_else(|| NotEvidence(text.to_owned()))
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
