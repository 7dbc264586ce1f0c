//! Takes the next step of a boot, according to its record.

mod eject;
mod http_boot;
mod media_time;
mod medium;
mod repetition;
mod secure_boot;
mod signs;
mod steps;
mod unwritten;
mod wait;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::boot::Boot;
use super::machine::Work;
use super::permits::Permit;
use super::record::{BootRecord, BootState};
use super::shared::Shared;
use super::step::Step;
use crate::store::StoredImage;
use redfish::bmc::{Attempt, Bmc, BmcError, PowerChange, PowerState};
use redfish::{Credentials, RedfishError, Target, Verification};

/// Why a boot stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// A step failed.
    Failed(Failure),
    /// The BMC did not answer, or was busy. The step may succeed a little later.
    Later(Failure),
    /// Somebody has deleted the boot.
    Deleted,
    /// Somebody has deleted the boot while dayone restarted the host, which is in this power state.
    Interrupted(PowerState),
    /// The record cannot be written.
    Disk(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

impl From<BmcError> for Stop {
    fn from(error: BmcError) -> Self {
        // The text of the error has a single request already.
        let refused = if error.attempts().len() > 1 { refusals(error.attempts()) } else { Vec::new() };
        let failure = Failure { text: error.to_string(), refused, refuses_credentials: refuses_credentials(&error) };
        match error {
            BmcError::Interrupted(state) => Self::Interrupted(state),
            error if error.is_unavailable() => Self::Later(failure),
            _ => Self::Failed(failure),
        }
    }
}

/// Why a step failed.
#[derive(Debug)]
pub(super) struct Failure {
    /// The error for users.
    text: String,
    /// Every request that the BMC refused, or carried out with a warning, and its answer.
    refused: Vec<String>,
    /// Whether the BMC refuses the credentials. The next attempt may lock the account.
    refuses_credentials: bool,
}

impl<T: Into<String>> From<T> for Failure {
    fn from(text: T) -> Self {
        Self { text: text.into(), refused: Vec::new(), refuses_credentials: false }
    }
}

fn refuses_credentials(error: &BmcError) -> bool {
    match error {
        // While all sessions are in use, a refusal says nothing about the credentials.
        BmcError::Redfish(error @ RedfishError::NoSession { .. }) => !error.is_transient(),
        BmcError::Redfish(error) => {
            matches!(error, RedfishError::NotAuthorized { .. } | RedfishError::PasswordChangeRequired { .. })
        }
        _ => false,
    }
}

/// Remarks about the requests that a BMC refused, or whose tasks completed with a warning.
fn refusals(attempts: &[Attempt]) -> Vec<String> {
    let remark = |attempt: &Attempt| {
        if !attempt.succeeded() {
            return Some(format!("refused by the BMC: {attempt}"));
        }
        attempt.warning.is_some().then(|| format!("carried out by the BMC with a warning: {attempt}"))
    };
    attempts.iter().filter_map(remark).collect()
}

/// How often dayone repeats a step if the BMC does not answer: it may be restarting.
const AGAIN: u32 = 2;

/// The wait before the first repetition of a step, in pauses between two requests. Each later wait is longer by as much.
const PAUSES: u32 = 5;

/// Works on a boot until it has ended, is forgotten, or the server stops. With a permit, the boot does not wait for its turn.
pub(super) async fn drive(shared: Arc<Shared>, boot: Arc<Boot>, permit: Option<Permit>) {
    tokio::select! {
        // A server that stops gives back the permits of the boots that run. The boots that wait must not begin with these.
        biased;
        () = boot.forgotten.cancelled() => {}
        // The next start continues from the record.
        () = shared.stopping.cancelled() => Box::pin(unwritten::write(&shared, &boot)).await,
        () = work(&shared, &boot, permit) => {}
    }
}

async fn work(shared: &Arc<Shared>, boot: &Arc<Boot>, mut permit: Option<Permit>) {
    let mut changes = boot.changes();
    loop {
        changes.mark_unchanged();
        let permit = permit.take();
        let stopped = match boot.work() {
            Work::Boot => run(shared, boot, permit).await,
            Work::Eject => undo(shared, boot).await,
            Work::Rest => changes.changed().await.map_err(|_| Stop::Deleted),
            Work::Ended => return,
        };
        if let Err(Stop::Disk(failure)) = &stopped {
            // Somebody has forgotten the boot meanwhile, so dayone does not write its record again.
            if boot.forgotten.is_cancelled() {
                return;
            }
            Box::pin(unwritten::fail(shared, boot, failure, &mut changes)).await;
        }
    }
}

/// Takes the steps up to `booted`.
async fn run(shared: &Arc<Shared>, boot: &Arc<Boot>, permit: Option<Permit>) -> Result<(), Stop> {
    let resumed = boot.is_under_way();
    let _permit = if let Some(permit) = permit {
        permit
    } else {
        tokio::select! {
            permit = shared.boot_permits.acquire() => permit.map_err(io::Error::other)?,
            () = deleted(boot) => return Ok(()),
        }
    };
    shared
        .change(boot, |record| {
            // Somebody may have deleted the boot while this change waited for another one.
            if record.work() != Work::Boot {
                return;
            }
            record.state = BootState::Running;
            if let (true, Some(step)) = (resumed, record.next_step()) {
                record.remark(format!("dayone was restarted, and continues with the step {step}"));
            }
        })
        .await?;
    let mut runner = steps::Steps::new(shared, boot, resumed);
    let mut again = 0;
    let ended = loop {
        let record = boot.record();
        if record.state != BootState::Running {
            break Ok(());
        }
        let Some(step) = record.next_step() else { break Ok(()) };
        match runner.take(step).await {
            Ok(()) => again = 0,
            Err(Stop::Later(failure)) if again < AGAIN => {
                again += 1;
                runner.reset().await;
                later(shared, boot, step, &failure.text, again).await?;
            }
            Err(why) => break Err((step, why)),
        }
    };
    let power = match &ended {
        Err((_, Stop::Interrupted(state))) => Some(*state),
        Err((_, Stop::Disk(_))) => None,
        Err((_, Stop::Failed(failure) | Stop::Later(failure))) => {
            Box::pin(runner.power_left(failure.refuses_credentials)).await
        }
        _ => Box::pin(runner.power_left(false)).await,
    };
    runner.close().await;
    if let Some(power) = power {
        // Before the boot failed, dayone may have sent a request to start the host that got no answer.
        let (why, then) = match boot.record().state {
            BootState::Running => ("failed", "dayone has not seen it start, and does not start it again"),
            _ => ("was deleted", "dayone did not start it"),
        };
        let remark = format!("the boot {why} while dayone restarted the host: {then}; its power state was {power}");
        shared.change(boot, |record| record.remark(remark)).await?;
    }
    match ended {
        Ok(()) | Err((_, Stop::Deleted | Stop::Interrupted(_))) => Ok(()),
        Err((_, Stop::Disk(error))) => Err(Stop::Disk(error)),
        Err((step, Stop::Failed(failure) | Stop::Later(failure))) => {
            // One step may have ended, and the next one begun, before the failure.
            let step = boot.record().next_step().unwrap_or(step);
            failed(shared, boot, step, failure).await
        }
    }
}

/// Notes that a step will be repeated, and waits. Stops waiting if the boot is deleted.
async fn later(shared: &Shared, boot: &Boot, step: Step, why: &str, again: u32) -> Result<(), Stop> {
    let pause = shared.settings().limits.pause * PAUSES * again;
    let remark = format!("{step}: {why}; dayone tries again in {} s", pause.as_secs());
    shared.change(boot, |record| record.remark(remark.clone())).await?;
    boot.show_progress(remark);
    let deleted = async {
        if boot.record().state == BootState::Running { deleted(boot).await } else { std::future::pending().await }
    };
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = deleted => {}
    }
    Ok(())
}

/// Notes that a step failed, in the record and in the log. The API and the command line show the record.
async fn failed(shared: &Shared, boot: &Boot, step: Step, failure: Failure) -> Result<(), Stop> {
    let change = |record: &mut BootRecord| {
        failure.refused.iter().for_each(|refusal| record.remark(refusal.clone()));
        // While the boot is being deleted, a failed step does not matter.
        if record.state == BootState::Ejecting && step != Step::Ejected {
            record.remark(format!("{step}: {}", failure.text));
        } else {
            record.fail(step, &failure.text);
        }
    };
    shared.change(boot, change).await?;
    let record = boot.record();
    let (host, bmc) = (record.host.as_deref(), &record.bmc.address);
    warn!(boot = %boot.id(), host, %bmc, %step, error = failure.text, "a step of a boot failed");
    Ok(())
}

/// Ejects the medium, and restores the BMC.
async fn undo(shared: &Arc<Shared>, boot: &Arc<Boot>) -> Result<(), Stop> {
    let _permit = shared.eject_permits.acquire().await.map_err(io::Error::other)?;
    for again in 1.. {
        match Box::pin(eject::eject(shared, boot)).await {
            Ok(()) => {
                info!(boot = %boot.id(), "the BMC of a boot is restored");
                break;
            }
            Err(Stop::Later(failure)) if again <= AGAIN => {
                later(shared, boot, Step::Ejected, &failure.text, again).await?;
            }
            Err(Stop::Failed(failure) | Stop::Later(failure)) => {
                failed(shared, boot, Step::Ejected, failure).await?;
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

/// Connects to the BMC of a boot, and logs in.
async fn connect(shared: &Arc<Shared>, boot: &Boot) -> Result<Bmc, Stop> {
    let credentials = find_credentials(shared, boot).await?;
    connect_with(shared, boot, credentials).await
}

/// The credentials for the BMC of a boot, as they are now.
async fn find_credentials(shared: &Arc<Shared>, boot: &Boot) -> Result<Option<Credentials>, Stop> {
    let record = boot.record();
    let keeper = Arc::clone(shared);
    let (id, source) = (record.id, record.bmc.credentials.clone());
    let directory = shared.settings().credentials.clone();
    let find = move || keeper.credentials.find(directory.as_deref(), id, &source);
    let found = shared.reading_credentials.run(find).await?;
    found.map_err(|error| Stop::Failed(error.to_string().into()))
}

/// Connects to the BMC of a boot, and logs in with these credentials.
async fn connect_with(shared: &Shared, boot: &Boot, credentials: Option<Credentials>) -> Result<Bmc, Stop> {
    let record = boot.record();
    let settings = shared.settings();
    let verification = if record.bmc.disable_certificate_verification {
        Verification::Disabled
    } else {
        settings.verification.clone()
    };
    let target = Target { address: record.bmc.address.clone(), credentials, verification };
    let bmc = Bmc::connect(&target, &settings.client).await.map_err(|error| {
        // The BMC has answered before.
        if record.at_bmc.is_some() && error.may_be_starting() {
            return Stop::Later(error.to_string().into());
        }
        error.into()
    })?;
    Ok(bmc.with_limits(settings.limits))
}

/// Why a host that had time to shut down was switched off by force.
fn why_forced(change: &PowerChange, graceful: Duration) -> Option<String> {
    if change.shutdown_refused {
        return Some("the host was not asked to shut down, because the BMC refused that".to_owned());
    }
    let is_late = change.graceful == Some(false);
    is_late.then(|| format!("the host did not shut down within {} s", graceful.as_secs()))
}

/// The image of a boot, and the URL that the BMC gets.
fn stored_image(shared: &Shared, boot: &Boot) -> Result<(Arc<StoredImage>, String), Stop> {
    let id = boot.record().image;
    let gone = || {
        let text =
            format!("the image {id} was deleted, or its time to live is over; make it again, and start the boot again");
        Stop::Failed(text.into())
    };
    let image = shared.store.image(&id).ok_or_else(gone)?;
    if !image.is_available() {
        let text =
            format!("the image {id} cannot be served, because its base is not available; /readyz has the reason");
        return Err(Stop::Failed(text.into()));
    }
    let url = shared.media_url.file(&image.token().as_str(), boot.record().file_name());
    Ok((image, url))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use redfish::RequestLine;

    use super::*;

    /// The size of what an asynchronous function with two arguments returns.
    fn size<A, B, F: Future>(_: fn(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_refusal_while_all_sessions_are_in_use_says_nothing_about_the_credentials() {
        for (status, expected) in [(StatusCode::SERVICE_UNAVAILABLE, false), (StatusCode::FORBIDDEN, true)] {
            let request = RequestLine { method: "POST", path: "/redfish/v1/SessionService/Sessions".to_owned() };
            let session = Box::new(redfish::Failure { request, status, messages: Vec::new(), retry_after: None });
            let (origin, username) = ("https://192.0.2.9".to_owned(), "admin".to_owned());
            let error = RedfishError::NoSession { origin, username, session, messages: Vec::new() };
            assert_eq!(refuses_credentials(&BmcError::Redfish(error)), expected, "{status}");
        }
    }

    #[test]
    fn a_boot_that_waits_for_its_turn_or_rests_needs_little_memory() {
        let size = size(|shared: Arc<Shared>, boot: Arc<Boot>| drive(shared, boot, None));
        assert!(size <= 2560, "{size} bytes");
    }

    #[test]
    fn a_boot_that_waits_for_its_host_needs_little_more() {
        fn size<A, B, C, F: Future>(_: fn(A, B, C) -> F) -> usize {
            size_of::<F>()
        }
        let size = size(wait::wait);
        assert!(size <= 3072, "{size} bytes");
    }
}
