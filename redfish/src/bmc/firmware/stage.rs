//! Stages the settings of a firmware, and waits until the firmware has them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::FirmwareError;
use super::jobs::{Job, JobState};
use super::present::Present;
use super::settings::{Change, FirmwareSettings};
use crate::bmc::Bmc;
use crate::bmc::attempt::{Attempt, Meaning};
use crate::bmc::error::BmcError;
use crate::bmc::limits::{MAX_TRIES, Poll};

/// What is left to do after the settings are staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Staging {
    /// The firmware has the settings already.
    Applied,
    /// The firmware takes the settings at the host's next start.
    NeedsRestart,
    /// The firmware is taking the settings. The host must not be restarted now.
    Applying,
}

/// The result of staging settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// What is left to do.
    pub staging: Staging,
    /// Every request that was sent, including those that the BMC refused.
    pub attempts: Vec<Attempt>,
}

impl Bmc {
    /// Stages the settings for the host's next start, as far as they are not, and reads them back. `earlier_url` is the URL of an
    /// earlier attempt, if it was another one: its job may still wait.
    pub async fn stage_firmware(
        &self,
        settings: &FirmwareSettings,
        image_url: &str,
        earlier_url: Option<&str>,
    ) -> Result<Staged, BmcError> {
        let staged = self.stage_and_verify(settings, image_url, earlier_url).await;
        staged.map_err(|error| self.masked_error(error))
    }

    async fn stage_and_verify(
        &self,
        settings: &FirmwareSettings,
        image_url: &str,
        earlier_url: Option<&str>,
    ) -> Result<Staged, BmcError> {
        let mut attempts = Vec::new();
        let mut present = self.present(settings).await?;
        // Without a job, an iDRAC never takes what is staged.
        let is_stuck = settings.jobs.is_some() && present.job.is_none();
        let is_missing = |change: &&Change| {
            if is_stuck { !present.is_applied(change, image_url) } else { !present.is_staged(change, image_url) }
        };
        let mut missing = settings.changes.iter().filter(is_missing).collect::<Vec<_>>();
        if !missing.is_empty() {
            if let Some(job) = present.job.take() {
                // An earlier attempt has staged other values, or it is a job of somebody else. The BMC takes no second one beside it.
                let urls = [Some(image_url), earlier_url];
                let is_ours = |change: &Change| urls.into_iter().flatten().any(|url| present.waits(change, url));
                if !settings.changes.iter().any(is_ours) {
                    return Err(FirmwareError::Waiting(job.path).into());
                }
                self.delete_waiting(settings, job, &mut attempts).await?;
                present = self.present(settings).await?;
                missing = settings.changes.iter().filter(|change| !present.is_applied(change, image_url)).collect();
            }
            let attributes = missing.iter().map(|change| (change.attribute.clone(), change.set.with(image_url)));
            let location = self.send_attributes(settings, &attributes.collect(), &mut attempts).await?;
            present = self.wait_until_staged(settings, image_url, location.as_deref(), &attempts).await?;
        }
        let is_applied = settings.changes.iter().all(|change| present.is_applied(change, image_url));
        let staging = match present.job.map(|job| job.state) {
            Some(JobState::Running) => Staging::Applying,
            None if is_applied => Staging::Applied,
            _ => Staging::NeedsRestart,
        };
        Ok(Staged { staging, attempts })
    }

    /// Sends a change of attributes. Repeats it if the BMC is busy, because a second one changes nothing. Returns the `Location` of the
    /// answer, which names an iDRAC's job.
    pub(super) async fn send_attributes(
        &self,
        settings: &FirmwareSettings,
        attributes: &Map<String, Value>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Option<String>, BmcError> {
        let body = settings.body(attributes);
        let mut tries = 1;
        loop {
            let result = self.client().stage(&settings.staged, &body, None, self.limits().change).await;
            attempts.push(Attempt::new("PATCH", &settings.staged, &body, &result));
            let error = match result {
                Ok(answer) => return Ok(answer.location),
                Err(error) => error,
            };
            match Meaning::of(&error) {
                Meaning::Final => return Err(error.into()),
                _ if error.says("SYS011") => return Err(FirmwareError::Waiting("SYS011".to_owned()).into()),
                Meaning::Busy | Meaning::Unknown if tries < MAX_TRIES => {
                    tries += 1;
                    tokio::time::sleep(self.limits().pause).await;
                }
                _ => return Err(FirmwareError::Refused { attempts: attempts.clone() }.into()),
            }
        }
    }

    /// Waits until the BMC shows the values, and the job that an iDRAC makes for them.
    async fn wait_until_staged(
        &self,
        settings: &FirmwareSettings,
        image_url: &str,
        location: Option<&str>,
        attempts: &[Attempt],
    ) -> Result<Present, BmcError> {
        let mut poll = Poll::new(self.limits().poll_interval, self.limits().settle);
        loop {
            let mut present = match self.present(settings).await {
                Ok(present) => present,
                Err(error) if error.may_pass() && poll.wait().await => continue,
                Err(error) => return Err(error),
            };
            if let (None, Some(jobs), Some(location)) = (&present.job, &settings.jobs, location) {
                present.job = self.named_job(jobs, location).await?;
            }
            let missing = names(settings, |change| !present.is_staged(change, image_url));
            let is_applied = settings.changes.iter().all(|change| present.is_applied(change, image_url));
            let is_ready = match &present.job {
                Some(job) => job.state != JobState::Preparing,
                None => settings.jobs.is_none() || is_applied,
            };
            if missing.is_empty() && is_ready {
                return Ok(present);
            }
            if !poll.wait().await {
                let what = match (missing.is_empty(), present.job) {
                    (false, _) => missing.join(", "),
                    (true, Some(job)) => format!("{} is not ready", job.path),
                    (true, None) => "there is no job for them".to_owned(),
                };
                return Err(FirmwareError::NotStaged { what, attempts: attempts.to_vec() }.into());
            }
        }
    }

    /// Waits until the firmware has the settings. The host was started for that.
    pub async fn wait_for_firmware(&self, settings: &FirmwareSettings, image_url: &str) -> Result<(), BmcError> {
        let waited = self.wait_until_applied(settings, image_url).await;
        waited.map_err(|error| self.masked_error(error))
    }

    async fn wait_until_applied(&self, settings: &FirmwareSettings, image_url: &str) -> Result<(), BmcError> {
        let limit = self.limits().firmware;
        let mut poll = Poll::new(self.limits().poll_interval, limit);
        let mut last_job: Option<Job> = None;
        let mut what = "the BMC does not answer".to_owned();
        loop {
            match self.present(settings).await {
                Ok(present) => {
                    let missing = names(settings, |change| !present.is_applied(change, image_url));
                    // An iDRAC shows the new values before its job has ended, and the host restarts at its end.
                    if present.job.is_none() && missing.is_empty() {
                        return Ok(());
                    }
                    what = match &present.job {
                        Some(job) => format!("{} has not ended", job.path),
                        None => missing.join(", "),
                    };
                    match (present.job, &last_job) {
                        (Some(job), _) => last_job = Some(job),
                        (None, Some(job)) => {
                            // The BMC may have forgotten the job.
                            if let Ok(Job { path: job, state: JobState::Failed, message }) = self.job(&job.path).await {
                                return Err(FirmwareError::JobFailed { job, message }.into());
                            }
                        }
                        (None, None) => {}
                    }
                }
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error),
            }
            if !poll.wait().await {
                return Err(FirmwareError::NotApplied { what, after: limit }.into());
            }
        }
    }

    /// Deletes a job that waits for the host's next start.
    pub(super) async fn delete_waiting(
        &self,
        settings: &FirmwareSettings,
        job: Job,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), BmcError> {
        if !matches!(job.state, JobState::Preparing | JobState::Waiting) || settings.jobs.is_none() {
            return Err(FirmwareError::Waiting(job.path).into());
        }
        let result = self.client().delete(&job.path, self.limits().change).await;
        attempts.push(Attempt::new("DELETE", &job.path, &Value::Null, &result));
        result?;
        Ok(())
    }
}

/// The names of some of the attributes.
pub(super) fn names(settings: &FirmwareSettings, filter: impl Fn(&&Change) -> bool) -> Vec<String> {
    settings.changes.iter().filter(filter).map(|change| change.attribute.clone()).collect()
}
