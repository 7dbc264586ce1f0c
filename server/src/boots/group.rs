//! Groups of boots, and how a boot counts among those of all hosts.

use serde::Serialize;
use utoipa::ToSchema;

use super::record::{BootRecord, BootState};
use super::step::{Step, StepState};

/// The group of a boot, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The steps are under way, or dayone restores the BMC.
    Running,
    /// A step failed.
    Failed,
    /// dayone cannot tell whether the host has booted.
    Unknown,
    /// The boot waits for others to end.
    Queued,
    /// The host has booted.
    Booted,
    /// The boot was deleted, and the BMC is restored.
    Ejected,
    /// The boot has ended, and a later boot has the same BMC.
    Earlier,
}

/// How the last boot of a host counts among those of all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// The host has booted.
    Booted,
    /// A step failed.
    Failed,
    /// dayone cannot tell whether the host has booted.
    Unknown,
    /// The steps are under way.
    Running,
    /// The boot waits for others to end.
    Queued,
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 7] =
        [Self::Running, Self::Failed, Self::Unknown, Self::Queued, Self::Booted, Self::Ejected, Self::Earlier];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Queued => "queued",
            Self::Booted => "booted",
            Self::Ejected => "ejected",
            Self::Earlier => "earlier",
        }
    }

    /// Whether it matters what was read of the image.
    pub fn is_watched(self) -> bool {
        matches!(self, Self::Running | Self::Failed | Self::Unknown)
    }

    /// The group of a boot.
    pub(super) fn of(record: &BootRecord, is_latest: bool) -> Self {
        if !is_latest && record.is_ended() {
            return Self::Earlier;
        }
        match record.state {
            BootState::Running | BootState::Ejecting => Self::Running,
            BootState::Failed => Self::Failed,
            BootState::Unknown => Self::Unknown,
            BootState::Queued => Self::Queued,
            BootState::Booted => Self::Booted,
            BootState::Ejected => Self::Ejected,
        }
    }

    /// How a boot of this group counts; none if a later boot counts for the host, or if the boot was deleted before the host
    /// had booted.
    pub fn counted(self, record: &BootRecord) -> Option<Counted> {
        let has_booted = record.step(Step::Booted).is_some_and(|step| step.state == StepState::Done);
        match self {
            Self::Earlier => None,
            _ if has_booted => Some(Counted::Booted),
            Self::Ejected => None,
            Self::Running if record.state == BootState::Ejecting => None,
            Self::Running => Some(Counted::Running),
            Self::Failed => Some(Counted::Failed),
            Self::Unknown => Some(Counted::Unknown),
            Self::Queued => Some(Counted::Queued),
            Self::Booted => Some(Counted::Booted),
        }
    }
}
