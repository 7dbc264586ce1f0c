//! Boots in words.

use super::boot::View;
use super::record::{BootRecord, BootState};
use super::step::{Step, StepState};

impl BootRecord {
    /// The host's name, or the address of its BMC.
    pub fn name(&self) -> String {
        self.host.clone().unwrap_or_else(|| self.bmc.address.to_string())
    }
}

impl Step {
    /// Its name in words: `boot override`.
    pub fn in_words(self) -> String {
        self.to_string().replace('-', " ")
    }
}

impl View {
    /// Why the boot is in its state, or what it is doing.
    pub fn reason(&self) -> String {
        let record = &self.record;
        let failed = record.steps().iter().find(|step| step.state == StepState::Failed);
        if let Some((step, error)) = failed.and_then(|step| Some((step, step.error.as_ref()?))) {
            return format!("{}: {error}", step.step.in_words());
        }
        if let Some(progress) = &self.progress {
            return progress.clone();
        }
        let running = record.steps().iter().find(|step| step.state == StepState::Running);
        if let Some(step) = running {
            return step.step.in_words();
        }
        if record.state == BootState::Queued {
            return "waits for other boots to end".to_owned();
        }
        let relevant = if record.state == BootState::Ejected { Step::Ejected } else { Step::Booted };
        record.step(relevant).and_then(|step| step.detail.clone()).unwrap_or_default()
    }
}
