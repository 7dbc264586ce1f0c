//! The states of a boot, and which work each state needs. Pure: it changes only the record.

use super::credentials::CredentialsSource;
use super::record::{BootRecord, BootState, EjectWhen};
use super::step::{Step, StepRecord, StepState};
use super::time::Timestamp;

/// The next work on a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Take the steps up to `booted`.
    Boot,
    /// Eject the medium, and restore the boot override.
    Eject,
    /// Wait for a request. The BMC still has the medium.
    Rest,
    /// The boot is over.
    Ended,
}

impl BootRecord {
    /// The next work. With this, a restarted server continues a boot.
    pub(super) fn work(&self) -> Work {
        let undone =
            matches!(self.step(Step::Ejected).map(|step| step.state), Some(StepState::Waiting | StepState::Running));
        match self.state {
            BootState::Queued | BootState::Running => Work::Boot,
            BootState::Ejecting => Work::Eject,
            BootState::Booted | BootState::Unknown | BootState::Failed | BootState::Ejected
                if self.at_bmc.is_none() =>
            {
                Work::Ended
            }
            BootState::Booted if undone && self.options.eject == EjectWhen::Booted => Work::Eject,
            BootState::Failed if undone && self.failed_before_power_on() => Work::Eject,
            BootState::Booted | BootState::Unknown | BootState::Failed | BootState::Ejected => Work::Rest,
        }
    }

    /// Whether the boot is over, so that another boot may control the BMC.
    pub fn is_ended(&self) -> bool {
        self.work() == Work::Ended
    }

    /// Whether the BMC has, or may have, the medium.
    pub fn is_inserted(&self) -> bool {
        self.at_bmc.is_some()
    }

    /// Whether dayone has told the BMC to start the host, or was about to.
    pub(super) fn was_started(&self) -> bool {
        self.at_bmc.as_ref().is_some_and(|at_bmc| at_bmc.started.is_some())
    }

    /// Whether the boot failed before dayone told the BMC to start the host. Only then does the host certainly not read the
    /// medium.
    fn failed_before_power_on(&self) -> bool {
        let failed = |step: &StepRecord| step.state == StepState::Failed && step.step < Step::Reading;
        self.steps.iter().any(failed) && !self.was_started()
    }

    /// The record of a step.
    pub fn step(&self, step: Step) -> Option<&StepRecord> {
        self.steps.iter().find(|record| record.step == step)
    }

    /// The first step up to `booted` that has not ended.
    pub(super) fn next_step(&self) -> Option<Step> {
        let open = |record: &&StepRecord| matches!(record.state, StepState::Waiting | StepState::Running);
        self.steps.iter().filter(|record| record.step < Step::Ejected).find(open).map(|record| record.step)
    }

    /// Begins a step, or begins it again after a restart. Does nothing if somebody has deleted the boot meanwhile, and the step is not the
    /// last one.
    pub(super) fn begin(&mut self, step: Step) {
        if self.state == BootState::Ejecting && step != Step::Ejected {
            return;
        }
        self.change(step, |record, now| {
            record.started.get_or_insert(now);
            (record.state, record.ended, record.error) = (StepState::Running, None, None);
        });
    }

    /// Ends a step successfully.
    pub(super) fn done(&mut self, step: Step, detail: impl Into<String>) {
        self.end(step, StepState::Done, Ok(detail.into()));
    }

    fn end(&mut self, step: Step, state: StepState, result: Result<String, String>) {
        self.change(step, |record, now| {
            record.started.get_or_insert(now);
            (record.state, record.ended, record.error) = (state, Some(now), None);
            match result {
                Ok(detail) => record.detail = Some(detail).filter(|detail| !detail.is_empty()),
                Err(error) => record.error = Some(error),
            }
        });
    }

    /// Skips a step.
    pub(super) fn skip(&mut self, step: Step, detail: impl Into<String>) {
        let detail = detail.into();
        self.change(step, |record, now| {
            (record.state, record.detail) = (StepState::Skipped, Some(detail));
            record.ended = record.started.map(|_| now);
        });
    }

    /// Fails a step, and with it the boot.
    pub(super) fn fail(&mut self, step: Step, error: impl Into<String>) {
        self.end(step, StepState::Failed, Err(error.into()));
        // If the host has booted, it stays so even if the medium cannot be ejected.
        if self.state != BootState::Booted {
            self.state = BootState::Failed;
        }
        self.skip_rest("the boot has failed");
        self.forget_if_ended();
    }

    /// Notes that the host has booted. If somebody has deleted the boot meanwhile, dayone still ejects its medium.
    pub(super) fn booted(&mut self, detail: impl Into<String>) {
        self.done(Step::Booted, detail);
        if self.state != BootState::Ejecting {
            self.state = BootState::Booted;
        }
        self.forget_if_ended();
    }

    /// Notes that dayone can see none of the signs that the boot waits for. The BMC stays as it is: the host may have booted. Does nothing if
    /// somebody has deleted the boot meanwhile.
    pub(super) fn unknown(&mut self, detail: impl Into<String>) {
        if self.state == BootState::Ejecting {
            return;
        }
        self.end_reading();
        self.end(Step::Booted, StepState::Unknown, Ok(detail.into()));
        self.state = BootState::Unknown;
        self.forget_if_ended();
    }

    /// Skips the step `reading`, if the host has not been seen to read the image.
    pub(super) fn end_reading(&mut self) {
        if self.next_step() == Some(Step::Reading) {
            self.skip(Step::Reading, "dayone saw no read after the host was switched on");
        }
    }

    /// Begins to delete the boot: skips the steps that have not ended, and ejects the medium next.
    pub(super) fn delete(&mut self) {
        self.state = BootState::Ejecting;
        self.skip_rest("the boot was deleted");
        self.change(Step::Ejected, |record, _| *record = StepRecord::waiting(Step::Ejected));
    }

    /// Notes that the BMC is restored.
    pub(super) fn ejected(&mut self, detail: impl Into<String>) {
        self.done(Step::Ejected, detail);
        self.at_bmc = None;
        if self.state == BootState::Ejecting {
            self.state = BootState::Ejected;
        }
        self.forget_if_ended();
    }

    fn skip_rest(&mut self, why: &str) {
        while let Some(step) = self.next_step() {
            self.skip(step, why);
        }
    }

    /// Forgets the credentials if the boot is over.
    fn forget_if_ended(&mut self) {
        if self.is_ended() && matches!(self.bmc.credentials, CredentialsSource::Encrypted(_)) {
            self.bmc.credentials = CredentialsSource::Forgotten;
        }
    }

    fn change(&mut self, step: Step, change: impl FnOnce(&mut StepRecord, Timestamp)) {
        if let Some(record) = self.steps.iter_mut().find(|record| record.step == step) {
            change(record, Timestamp::now());
        }
    }
}

#[cfg(test)]
mod tests;
