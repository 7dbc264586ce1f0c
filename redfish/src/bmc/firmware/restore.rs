//! Brings the settings of a firmware back to what they were.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::FirmwareError;
use super::jobs::JobState;
use super::present::Present;
use super::settings::{Change, FirmwareSettings};
use super::stage::names;
use crate::bmc::Bmc;
use crate::bmc::error::BmcError;
use crate::bmc::limits::Poll;

/// What was done to restore the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirmwareRestored {
    /// Nothing had to be restored.
    Nothing,
    /// The firmware had not taken the settings, and will not.
    Cancelled,
    /// The values from before are staged, and take effect at the host's next start.
    Staged {
        /// The attributes that the BMC does not change back.
        kept: Vec<String>,
    },
}

/// Whether this attribute makes others writable. A BMC may refuse to change both in one request.
fn is_parent(change: &Change) -> bool {
    change.attribute.ends_with("EnDis")
}

/// Whether an attribute has, or will have, the value that dayone has set, and had another one before.
fn is_ours(present: &Present, change: &Change, image_url: &str) -> bool {
    present.is_staged(change, image_url) && present.effective(&change.attribute) != Some(&change.before)
}

impl Bmc {
    /// Restores the settings that were there before [`stage_firmware`](Self::stage_firmware). Leaves what somebody has set since.
    pub async fn restore_firmware(
        &self,
        settings: &FirmwareSettings,
        image_url: &str,
    ) -> Result<FirmwareRestored, BmcError> {
        let restored = self.restore_settings(settings, image_url).await;
        restored.map_err(|error| self.masked_error(error))
    }

    async fn restore_settings(
        &self,
        settings: &FirmwareSettings,
        image_url: &str,
    ) -> Result<FirmwareRestored, BmcError> {
        let mut attempts = Vec::new();
        let mut present = self.idle(settings).await?;
        let mut is_cancelled = false;
        if let Some(job) = present.job.take() {
            if settings.changes.iter().any(|change| present.waits(change, image_url)) {
                self.delete_waiting(settings, job, &mut attempts).await?;
                is_cancelled = true;
                present = self.present(settings).await?;
            } else if settings.changes.iter().any(|change| is_ours(&present, change, image_url)) {
                // It is somebody else's, and the BMC takes no second one beside it.
                return Err(FirmwareError::Waiting(job.path).into());
            }
        }
        let changes = settings.changes.iter().filter(|change| is_ours(&present, change, image_url)).collect::<Vec<_>>();
        if changes.is_empty() {
            let is_waiting = settings.changes.iter().any(|change| {
                present.is_applied(change, image_url) && present.effective(&change.attribute) == Some(&change.before)
            });
            return Ok(match (is_cancelled, is_waiting) {
                // An earlier attempt has staged them.
                (_, true) => FirmwareRestored::Staged { kept: Vec::new() },
                (true, false) => FirmwareRestored::Cancelled,
                (false, false) => FirmwareRestored::Nothing,
            });
        }
        // Where the firmware never took a value, there is nothing to wait for.
        let takes_effect_now = changes.iter().all(|change| present.current(&change.attribute) == Some(&change.before));
        let before = |changes: &[&Change]| -> Map<String, Value> {
            changes.iter().map(|change| (change.attribute.clone(), change.before.clone())).collect()
        };
        let mut kept = Vec::new();
        let without_parents = changes.iter().copied().filter(|change| !is_parent(change)).collect::<Vec<_>>();
        match self.send_attributes(settings, &before(&changes), &mut attempts).await {
            // The values of attributes that others make writable matter more than those others: one is the URL.
            Err(BmcError::Firmware(FirmwareError::Refused { .. }))
                if without_parents.len() < changes.len() && !without_parents.is_empty() =>
            {
                self.send_attributes(settings, &before(&without_parents), &mut attempts).await?;
                kept =
                    changes.iter().filter(|change| is_parent(change)).map(|change| change.attribute.clone()).collect();
            }
            other => drop(other?),
        }
        let present = self.present(settings).await?;
        let left = names(settings, |change| {
            present.is_staged(change, image_url)
                && change.set.with(image_url) != change.before
                && !kept.contains(&change.attribute)
        });
        if !left.is_empty() {
            return Err(FirmwareError::NotStaged { what: left.join(", "), attempts }.into());
        }
        Ok(if takes_effect_now { FirmwareRestored::Cancelled } else { FirmwareRestored::Staged { kept } })
    }

    /// Reads the settings, and waits for the end of a job that changes them now.
    async fn idle(&self, settings: &FirmwareSettings) -> Result<Present, BmcError> {
        let mut poll = Poll::new(self.limits().poll_interval, self.limits().firmware);
        loop {
            let present = self.present(settings).await?;
            match &present.job {
                Some(job) if job.state == JobState::Running => {
                    if !poll.wait().await {
                        let what = format!("{} has not ended", job.path);
                        return Err(FirmwareError::NotApplied { what, after: self.limits().firmware }.into());
                    }
                }
                _ => return Ok(present),
            }
        }
    }
}
