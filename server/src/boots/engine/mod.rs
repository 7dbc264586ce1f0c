//! Doing what the record of a boot says is next.

mod connection;
mod eject;
mod signs;
mod steps;
mod stored_image;
mod wait;

use std::io;
use std::sync::Arc;

use tracing::{error, info, warn};

use super::boot::Boot;
use super::machine::Work;
use super::progress::Progress;
use super::record::{BootRecord, BootState};
use super::shared::Shared;
use super::step::Step;
use redfish::bmc::{Attempt, BmcError};

/// Why a boot does not go on.
#[derive(Debug)]
pub(super) enum Stop {
    /// A step failed.
    Failed(Why),
    /// The BMC did not answer, or was busy: a little later it may do the same.
    Later(Why),
    /// Somebody wants it undone.
    Deleted,
    /// Its record cannot be written.
    Disk(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

impl From<BmcError> for Stop {
    fn from(error: BmcError) -> Self {
        // A single request is in the text.
        let refused = if error.attempts().len() > 1 { refusals(error.attempts()) } else { Vec::new() };
        let why = Why { text: error.to_string(), refused };
        match error {
            BmcError::Redfish(error) if error.is_transient() => Self::Later(why),
            _ => Self::Failed(why),
        }
    }
}

/// Why a step does not end well.
#[derive(Debug)]
pub(super) struct Why {
    /// What to tell people.
    text: String,
    /// Every request that the BMC refused, and how.
    refused: Vec<String>,
}

impl<T: Into<String>> From<T> for Why {
    fn from(text: T) -> Self {
        Self { text: text.into(), refused: Vec::new() }
    }
}

impl Why {
    /// Keeps what the BMC refused.
    fn keep(&mut self, record: &mut BootRecord) {
        self.refused.drain(..).for_each(|refusal| record.remark(refusal));
    }
}

/// What a BMC refused, as remarks.
fn refusals(attempts: &[Attempt]) -> Vec<String> {
    let refused = attempts.iter().filter(|attempt| !attempt.succeeded());
    refused.map(|attempt| format!("refused by the BMC: {attempt}")).collect()
}

/// How often a step is tried again when its BMC does not answer: it may be starting anew.
const AGAIN: u32 = 2;

/// How many pauses between two requests are between two tries of a step.
const PAUSES: u32 = 5;

/// Works on a boot until it has ended, is forgotten, or the server stops.
pub(super) async fn drive(shared: Arc<Shared>, boot: Arc<Boot>) {
    tokio::select! {
        () = work(&shared, &boot) => {}
        () = boot.forgotten.cancelled() => {}
        // The record says how far it came; the next start goes on from there.
        () = shared.stopping.cancelled() => {}
    }
}

async fn work(shared: &Arc<Shared>, boot: &Arc<Boot>) {
    let mut changes = boot.changes();
    loop {
        changes.mark_unchanged();
        let stopped = match boot.work() {
            Work::Boot => run(shared, boot).await,
            Work::Eject => undo(shared, boot).await,
            Work::Rest => changes.changed().await.map_err(|_| Stop::Deleted),
            Work::Ended => return,
        };
        if let Err(Stop::Disk(failure)) = stopped {
            let error = format!(
                "the server cannot write to its data directory ({failure}), and does nothing that it could not undo \
                 after a restart; make room there and delete the boot"
            );
            let step = boot.record().next_step().unwrap_or(Step::Ejected);
            error!(boot = %boot.id(), %step, error, "a step of a boot failed");
            boot.show(|record| record.fail(step, error));
            changes.mark_unchanged();
            // Somebody deletes it, when there is room again.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Takes the steps up to `booted`.
async fn run(shared: &Arc<Shared>, boot: &Arc<Boot>) -> Result<(), Stop> {
    let _turn = tokio::select! {
        turn = Arc::clone(&shared.turns).acquire_owned() => turn.map_err(io::Error::other)?,
        () = deleted(boot) => return Ok(()),
    };
    let resumed = boot.resumed && boot.record().state == BootState::Running;
    shared
        .change(boot, |record| {
            record.state = BootState::Running;
            if let (true, Some(step)) = (resumed, record.next_step()) {
                record.remark(format!("dayone was started anew and goes on with the step {step}"));
            }
        })
        .await?;
    let mut taken = steps::Steps::new(shared, boot, resumed);
    let mut again = 0;
    let ended = loop {
        let record = boot.record();
        if record.state != BootState::Running {
            break Ok(());
        }
        let Some(step) = record.next_step() else { break Ok(()) };
        match taken.take(step).await {
            Ok(()) => again = 0,
            Err(Stop::Later(why)) if again < AGAIN => {
                again += 1;
                taken.try_again().await;
                later(shared, boot, step, &why.text, again).await?;
            }
            Err(why) => break Err((step, why)),
        }
    };
    taken.close().await;
    match ended {
        Ok(()) | Err((_, Stop::Deleted)) => Ok(()),
        Err((_, Stop::Disk(error))) => Err(Stop::Disk(error)),
        Err((step, Stop::Failed(why) | Stop::Later(why))) => {
            // A step may have ended, and the next one begun, before it failed.
            let step = boot.record().next_step().unwrap_or(step);
            failed(shared, boot, step, why).await
        }
    }
}

/// Says that a step is tried again, and waits for that, unless the boot is deleted meanwhile.
async fn later(shared: &Shared, boot: &Boot, step: Step, why: &str, again: u32) -> Result<(), Stop> {
    let pause = shared.settings.limits.pause * PAUSES * again;
    let remark = format!("{step}: {why}; it is tried again in {} s", pause.as_secs());
    shared.change(boot, |record| record.remark(remark.clone())).await?;
    show(boot, remark);
    let deleted = async {
        if boot.record().state == BootState::Running { deleted(boot).await } else { std::future::pending().await }
    };
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = deleted => {}
    }
    Ok(())
}

/// A step failed: the record, and with it the API and the command line, and the log say the same of it.
async fn failed(shared: &Shared, boot: &Boot, step: Step, mut why: Why) -> Result<(), Stop> {
    let change = |record: &mut BootRecord| {
        why.keep(record);
        // What fails while the boot is being deleted is not news.
        if record.state == BootState::Ejecting && step != Step::Ejected {
            record.remark(format!("{step}: {}", why.text));
        } else {
            record.fail(step, &why.text);
        }
    };
    shared.change(boot, change).await?;
    let record = boot.record();
    let (host, bmc) = (record.host.as_deref(), &record.bmc.address);
    warn!(boot = %boot.id(), host, %bmc, %step, error = why.text, "a step of a boot failed");
    Ok(())
}

/// Takes the medium out.
async fn undo(shared: &Arc<Shared>, boot: &Arc<Boot>) -> Result<(), Stop> {
    let _turn = Arc::clone(&shared.eject_turns).acquire_owned().await.map_err(io::Error::other)?;
    for again in 1.. {
        match eject::eject(shared, boot).await {
            Ok(()) => {
                info!(boot = %boot.id(), "the BMC of a boot is as it was");
                break;
            }
            Err(Stop::Later(why)) if again <= AGAIN => later(shared, boot, Step::Ejected, &why.text, again).await?,
            Err(Stop::Failed(why) | Stop::Later(why)) => {
                failed(shared, boot, Step::Ejected, why).await?;
                break;
            }
            Err(stop) => return Err(stop),
        }
    }
    Ok(())
}

/// Waits until the boot is deleted.
async fn deleted(boot: &Boot) {
    let mut changes = boot.changes();
    // The sender lives as long as the boot.
    let _ = changes.wait_for(|view| matches!(view.record.state, BootState::Ejecting | BootState::Ejected)).await;
}

/// Shows what a step is at.
fn show(boot: &Boot, text: impl Into<String>) {
    boot.progress(Progress::new(text));
}
