//! The job with which an iDRAC changes the settings of the firmware. There is at most one that has not ended.

use serde_json::Value;

use crate::RedfishError;
use crate::bmc::Bmc;
use crate::bmc::collection::Collection;
use crate::bmc::error::BmcError;
use crate::bmc::properties::{Properties, clean, last_segment};
use crate::without_tokens;

/// Maximum number of jobs that are read one by one, the newest first.
const MAX_JOBS: usize = 16;

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobState {
    /// The BMC is making it ready. A restart of the host would come too early.
    Preparing,
    /// It waits for the host's next start.
    Waiting,
    /// It changes the settings now. The host may restart by itself.
    Running,
    /// It has ended well.
    Done,
    /// It has failed.
    Failed,
}

/// A job that changes the settings of the firmware.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) path: String,
    pub(super) state: JobState,
    /// What the BMC says about it.
    pub(super) message: String,
}

impl Job {
    fn read(path: String, body: &Value) -> Self {
        let state = match Properties::new(body).text("JobState").unwrap_or_default().as_str() {
            "New" | "Scheduling" | "Starting" | "Validating" => JobState::Preparing,
            "Scheduled" | "ReadyForExecution" | "Pending" => JobState::Waiting,
            "Completed" => JobState::Done,
            "CompletedWithErrors" | "Failed" | "Exception" | "Cancelled" => JobState::Failed,
            // What is not known is not deleted.
            _ => JobState::Running,
        };
        // It may repeat the URL.
        let message = without_tokens(&clean(body.get("Message").and_then(Value::as_str).unwrap_or_default()));
        Self { path, state, message }
    }

    /// The job, if it changes the settings of the firmware and has not ended.
    fn if_open(path: String, body: &Value) -> Option<Self> {
        let job = Self::read(path, body);
        let has_ended = matches!(job.state, JobState::Done | JobState::Failed);
        (is_about_settings(body) && !has_ended).then_some(job)
    }
}

/// Whether a job changes the settings of the firmware. Some iDRACs give no type, and all give such a name.
fn is_about_settings(job: &Value) -> bool {
    let job_type = job.get("JobType").or_else(|| job.pointer("/Oem/Dell/JobType")).and_then(Value::as_str);
    let name = job.get("Name").and_then(Value::as_str).unwrap_or_default();
    job_type == Some("BIOSConfiguration")
        || name.starts_with("ConfigBIOS:")
        || name.starts_with("Configure: BIOS.Setup")
}

impl Bmc {
    /// The job that has not ended, if there is one.
    pub(super) async fn open_job(&self, jobs: &str) -> Result<Option<Job>, BmcError> {
        let refused = |error: &RedfishError| error.status().is_some_and(|status| status.is_client_error());
        let list = match self.collection(&format!("{jobs}?$expand=*($levels=1)")).await {
            Ok(Collection { incomplete: Some(error), .. }) | Err(error) if refused(&error) => {
                self.collection(jobs).await?
            }
            read => read?,
        };
        // The job may be in the part that is missing.
        if let Some(error) = list.incomplete {
            return Err(error.into());
        }
        let mut read = 0;
        for member in list.members.iter().rev() {
            let Some(path) = Properties::new(member).path("@odata.id") else { continue };
            let job = if member.get("JobState").is_some() {
                member.clone()
            } else if read < MAX_JOBS {
                read += 1;
                self.client().get(&path).await?.body
            } else {
                break;
            };
            if let Some(job) = Job::if_open(path, &job) {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    /// The job that the `Location` of an answer names, as a job, a task or the monitor of a task: all have the job's id. `None` if it has
    /// ended, or is of another kind.
    pub(super) async fn named_job(&self, jobs: &str, location: &str) -> Result<Option<Job>, BmcError> {
        let id = last_segment(location);
        if !id.starts_with("JID_") || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Ok(None);
        }
        let path = format!("{}/{id}", jobs.trim_end_matches('/'));
        Ok(self.read_if_there(&path).await?.and_then(|body| Job::if_open(path, &body)))
    }

    /// Reads one job.
    pub(super) async fn job(&self, path: &str) -> Result<Job, BmcError> {
        let body = self.client().get(path).await?.body;
        Ok(Job::read(path.to_owned(), &body))
    }
}
