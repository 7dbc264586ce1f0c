//! The steps of a boot, in their order.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// One step of a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The image is published.
    Image,
    /// The BMC has the image as virtual media.
    Insert,
    /// The host will boot from it, once.
    BootOverride,
    /// The host starts anew.
    Power,
    /// The host reads the image.
    Reading,
    /// The host's own system runs.
    Booted,
    /// The BMC is as it was.
    Ejected,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: [Self; 7] =
        [Self::Image, Self::Insert, Self::BootOverride, Self::Power, Self::Reading, Self::Booted, Self::Ejected];

    /// Its name, as the API and records have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Insert => "insert",
            Self::BootOverride => "boot-override",
            Self::Power => "power",
            Self::Reading => "reading",
            Self::Booted => "booted",
            Self::Ejected => "ejected",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How far a step has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepState {
    /// Not begun.
    Waiting,
    /// Begun and not ended.
    Running,
    /// Ended well.
    Done,
    /// Ended badly.
    Failed,
    /// It will not be done.
    Skipped,
    /// Ended without anything that shows whether it was done.
    Unknown,
}

impl StepState {
    /// Its name, as the API and records have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        }
    }
}

/// What is known of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// Which one.
    pub step: Step,
    /// How far it has come.
    pub state: StepState,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Why it failed, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What came of it, or what it is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl StepRecord {
    pub(super) fn waiting(step: Step) -> Self {
        Self { step, state: StepState::Waiting, started: None, ended: None, error: None, detail: None }
    }
}
