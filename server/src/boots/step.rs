//! The steps of a boot, in their order.

use serde::{Deserialize, Serialize};
use vocabulary::text_as_serde;

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
    /// The host is switched off and on.
    Power,
    /// The host reads the image.
    Reading,
    /// The host's own system runs.
    Booted,
    /// The medium is out, and the BMC is restored.
    Ejected,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: [Self; 7] =
        [Self::Image, Self::Insert, Self::BootOverride, Self::Power, Self::Reading, Self::Booted, Self::Ejected];
}

text_as_serde!(Step);

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepState {
    /// The step has not begun.
    Waiting,
    /// The step is running.
    Running,
    /// The step has succeeded.
    Done,
    /// The step has failed.
    Failed,
    /// dayone has skipped the step.
    Skipped,
    /// The step has ended, and dayone cannot tell whether it has succeeded.
    Unknown,
}

text_as_serde!(StepState);

/// The record of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// The step.
    pub step: Step,
    /// Its state.
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
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl StepRecord {
    pub(super) fn waiting(step: Step) -> Self {
        Self { step, state: StepState::Waiting, started: None, ended: None, error: None, detail: None }
    }
}
