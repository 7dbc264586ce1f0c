//! The job with which an iDRAC changes the settings of the firmware. There is at most one that has not ended.

use serde_json::Value;

use crate::bmc::Bmc;
use crate::bmc::error::BmcError;
use crate::bmc::properties::{Properties, clean};
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
        let list = match self.client().get(&format!("{jobs}?$expand=*($levels=1)")).await {
            Ok(list) => list,
            Err(error) if error.status().is_some_and(|status| status.is_client_error()) => {
                self.client().get(jobs).await?
            }
            Err(error) => return Err(error.into()),
        };
        let members = list.body.get("Members").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut read = 0;
        for member in members.iter().rev() {
            let Some(path) = Properties::new(member).path("@odata.id") else { continue };
            let job = if member.get("JobState").is_some() {
                member.clone()
            } else if read < MAX_JOBS {
                read += 1;
                self.client().get(&path).await?.body
            } else {
                break;
            };
            let found = Job::read(path, &job);
            if is_about_settings(&job) && !matches!(found.state, JobState::Done | JobState::Failed) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Reads one job.
    pub(super) async fn job(&self, path: &str) -> Result<Job, BmcError> {
        let body = self.client().get(path).await?.body;
        Ok(Job::read(path.to_owned(), &body))
    }
}
