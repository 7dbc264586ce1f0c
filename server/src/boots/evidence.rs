//! The signs that show that a host has booted.

use serde::{Deserialize, Serialize};
use vocabulary::text_as_serde;

/// A kind of sign that a host's own system runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The host requests the image's call-home URL from dayone, over the network in its documents.
    CallHome,
    /// The BMC reports that an operating system runs (`BootProgress.LastState`, `ComputerSystem` 1.13 and later). No sign while nobody
    /// has requested the image since the host was switched on.
    BootProgress,
    /// One of the host's static addresses answers. No sign while nobody has requested the image since the host was switched on.
    Reachable,
    /// The host reads the image. This shows only that the firmware boots from it.
    Reading,
}

/// A text is not a kind of evidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of: call-home, boot-progress, reachable, reading")]
pub struct NotEvidence(String);

text_as_serde!(Evidence, NotEvidence);
