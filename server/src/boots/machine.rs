//! The states of a boot and what follows from them. Nothing is done here.

use super::credentials::CredentialsSource;
use super::record::{BootRecord, BootState, EjectWhen};
use super::step::{Step, StepRecord, StepState};
use super::time::Timestamp;

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// The steps up to `booted`.
    Boot,
    /// Taking the medium out, and setting the boot override back.
    Eject,
    /// Nothing until somebody wants something; the BMC still has the medium.
    Rest,
    /// Nothing ever again.
    Ended,
}

impl BootRecord {
    /// What is to be done next. A server that has just started finds out here where it was.
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

    /// Whether it is over, and another boot may have the BMC.
    pub fn is_ended(&self) -> bool {
        self.work() == Work::Ended
    }

    /// Whether the BMC has the medium, or may have it.
    pub fn is_inserted(&self) -> bool {
        self.at_bmc.is_some()
    }

    /// A host that was never started anew does not read the medium: it can go. One that the BMC was told to start may
    /// read it, whatever became of that.
    fn failed_before_power_on(&self) -> bool {
        let failed = |step: &StepRecord| step.state == StepState::Failed && step.step < Step::Reading;
        let was_started = self.at_bmc.as_ref().is_some_and(|at_bmc| at_bmc.started.is_some());
        self.steps.iter().any(failed) && !was_started
    }

    /// What is known of a step.
    pub fn step(&self, step: Step) -> Option<&StepRecord> {
        self.steps.iter().find(|record| record.step == step)
    }

    /// The first step of those up to `booted` that has not ended.
    pub(super) fn next_step(&self) -> Option<Step> {
        let open = |record: &&StepRecord| matches!(record.state, StepState::Waiting | StepState::Running);
        self.steps.iter().filter(|record| record.step < Step::Ejected).find(open).map(|record| record.step)
    }

    /// The step begins, or begins again after a restart.
    pub(super) fn begin(&mut self, step: Step) {
        self.change(step, |record, now| {
            record.started.get_or_insert(now);
            (record.state, record.ended, record.error) = (StepState::Running, None, None);
        });
    }

    /// The step ends well.
    pub(super) fn done(&mut self, step: Step, detail: impl Into<String>) {
        let detail = detail.into();
        self.change(step, |record, now| {
            record.started.get_or_insert(now);
            (record.state, record.ended, record.error) = (StepState::Done, Some(now), None);
            record.detail = Some(detail).filter(|detail| !detail.is_empty());
        });
    }

    /// The step is left out.
    pub(super) fn skip(&mut self, step: Step, detail: impl Into<String>) {
        let detail = detail.into();
        self.change(step, |record, now| {
            (record.state, record.detail) = (StepState::Skipped, Some(detail));
            record.ended = record.started.map(|_| now);
        });
    }

    /// The step ends badly, and the boot with it.
    pub(super) fn fail(&mut self, step: Step, error: impl Into<String>) {
        let error = error.into();
        self.change(step, |record, now| {
            record.started.get_or_insert(now);
            (record.state, record.ended, record.error) = (StepState::Failed, Some(now), Some(error));
        });
        // Where the host has booted, a medium that does not come out takes nothing from that.
        if self.state != BootState::Booted {
            self.state = BootState::Failed;
        }
        self.skip_rest("the boot has failed");
        self.forget_if_ended();
    }

    /// The host has booted.
    pub(super) fn booted(&mut self, detail: impl Into<String>) {
        self.done(Step::Booted, detail);
        self.state = BootState::Booted;
        self.forget_if_ended();
    }

    /// Nothing that the boot waits for can be seen. The BMC stays as it is: the host may have booted.
    pub(super) fn unknown(&mut self, detail: impl Into<String>) {
        let detail = detail.into();
        self.end_reading();
        self.change(Step::Booted, |record, now| {
            record.started.get_or_insert(now);
            (record.state, record.ended, record.error) = (StepState::Unknown, Some(now), None);
            record.detail = Some(detail);
        });
        self.state = BootState::Unknown;
        self.forget_if_ended();
    }

    /// Nobody waits any more for the host to read the image.
    pub(super) fn end_reading(&mut self) {
        if self.next_step() == Some(Step::Reading) {
            self.skip(Step::Reading, "nothing was seen to be read after the host was switched on");
        }
    }

    /// Somebody wants the medium out. Steps that have not begun will not.
    pub(super) fn delete(&mut self) {
        self.state = BootState::Ejecting;
        self.skip_rest("the boot was deleted");
        self.change(Step::Ejected, |record, _| *record = StepRecord::waiting(Step::Ejected));
    }

    /// The BMC is as it was.
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

    /// A boot that is over needs no credentials any more.
    fn forget_if_ended(&mut self) {
        if self.is_ended() && matches!(self.bmc.credentials, CredentialsSource::Sealed(_)) {
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
