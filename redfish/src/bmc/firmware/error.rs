//! Why the settings of a firmware cannot be changed.

use std::time::Duration;

use crate::bmc::attempt::Attempt;
use crate::bmc::properties::some_of;

/// Why the settings of a host's firmware cannot be changed for a boot by HTTP.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FirmwareError {
    /// The firmware has no settings for HTTP boot.
    #[error(
        "the firmware has no setting {attribute}, which HTTP boot needs here: update the firmware, or boot from virtual media"
    )]
    Missing {
        /// The name of the attribute.
        attribute: String,
    },
    /// The settings are there only in UEFI mode.
    #[error(
        "the host is in legacy mode, or is to be, in which its firmware has no HTTP boot: switch the firmware to UEFI in its setup first, \
         or boot from virtual media"
    )]
    LegacyMode,
    /// The BMC says that a setting cannot be changed.
    #[error(
        "the firmware's setting {attribute} is read-only{}: look in the firmware's setup for what locks it (a lockdown mode, a setup \
         password), or boot from virtual media",
        because(reason.as_ref())
    )]
    ReadOnly {
        /// The name of the attribute.
        attribute: String,
        /// What the BMC says about it.
        reason: Option<String>,
    },
    /// The firmware does not know a value.
    #[error("the firmware's setting {attribute} does not take {value:?}; it takes {}", some_of(offered))]
    Value {
        /// The name of the attribute.
        attribute: String,
        /// The value.
        value: String,
        /// The values that the BMC lists.
        offered: Vec<String>,
    },
    /// The image's URL is longer than the firmware takes.
    #[error(
        "the image's URL has {length} characters, and the firmware's setting {attribute} takes {longest}: shorten the media URL"
    )]
    UrlTooLong {
        /// The name of the attribute.
        attribute: String,
        /// The length of the URL.
        length: usize,
        /// The maximum length.
        longest: u64,
    },
    /// The NIC that is to have the firmware's address is not known.
    #[error("the firmware cannot have the static address: {0}")]
    NoStaticAddress(String),
    /// Changes of somebody else wait for the host's next start.
    #[error(
        "other changes of the firmware's settings wait for the host's next start ({0}): restart the host so that it takes them, or delete \
         them, and try again"
    )]
    Waiting(String),
    /// The BMC refused the change.
    #[error("the BMC does not change the firmware's settings: {}", last(attempts))]
    Refused {
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// The BMC accepted the change, and does not show it.
    #[error("the BMC accepted the firmware's settings, but does not have them for the next start: {what}")]
    NotStaged {
        /// What is missing.
        what: String,
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// The BMC's job that changes the settings failed.
    #[error("the BMC's job that changes the firmware's settings has failed ({job}): {message}")]
    JobFailed {
        /// The job's path.
        job: String,
        /// What the BMC says.
        message: String,
    },
    /// The host was started, and its firmware did not take the settings in time.
    #[error(
        "the firmware has not taken the settings within {} s after the host's start: {what}. Look at the host's console",
        after.as_secs()
    )]
    NotApplied {
        /// What is missing.
        what: String,
        /// The time limit.
        after: Duration,
    },
}

impl FirmwareError {
    /// Every request that was sent to change something, in order.
    pub(in crate::bmc) fn attempts(&self) -> &[Attempt] {
        match self {
            Self::Refused { attempts } | Self::NotStaged { attempts, .. } => attempts,
            _ => &[],
        }
    }

    /// The texts that come from the BMC and are not masked yet.
    pub(in crate::bmc) fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::Value { offered, .. } => offered.iter_mut().collect(),
            Self::ReadOnly { reason, .. } => reason.iter_mut().collect(),
            Self::JobFailed { message, .. } | Self::NoStaticAddress(message) => vec![message],
            _ => Vec::new(),
        }
    }
}

fn because(reason: Option<&String>) -> String {
    reason.map(|reason| format!(" ({reason})")).unwrap_or_default()
}

fn last(attempts: &[Attempt]) -> String {
    attempts.last().map(ToString::to_string).unwrap_or_default()
}
