//! The signs that show that a host has booted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A kind of sign that a host's own system runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The host requests the image's call-home URL from dayone, over the network in its documents.
    CallHome,
    /// The BMC reports that an operating system runs (`BootProgress.LastState`, `ComputerSystem` 1.13 and later).
    BootProgress,
    /// One of the host's static addresses answers.
    Reachable,
    /// The host reads the image. This shows only that the firmware boots from it.
    Reading,
}

/// A text is not a kind of evidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of: call-home, boot-progress, reachable, reading")]
pub struct NotEvidence(String);

impl Evidence {
    /// The name in the API and in records.
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
