//! Groups of boots.

use crate::boots::{BootRecord, BootState};

/// The group of a boot, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Running,
    Failed,
    Unknown,
    Queued,
    Booted,
    Ejected,
    /// A later boot has the same BMC.
    Earlier,
}

impl Group {
    /// All groups with their names.
    pub(super) const ALL: [(Self, &'static str); 7] = [
        (Self::Running, "running"),
        (Self::Failed, "failed"),
        (Self::Unknown, "unknown"),
        (Self::Queued, "queued"),
        (Self::Booted, "booted"),
        (Self::Ejected, "ejected"),
        (Self::Earlier, "earlier"),
    ];

    /// The group of a boot that is the last one of its host.
    pub(super) fn of(record: &BootRecord) -> Self {
        match record.state {
            BootState::Running | BootState::Ejecting => Self::Running,
            BootState::Failed => Self::Failed,
            BootState::Unknown => Self::Unknown,
            BootState::Queued => Self::Queued,
            BootState::Booted => Self::Booted,
            BootState::Ejected => Self::Ejected,
        }
    }
}
