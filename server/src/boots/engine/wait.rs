//! Waiting for a host that was switched on: does it read the image, and does its system come up?

use std::sync::Arc;
use std::time::Duration;

use media::Call;
use tokio::sync::watch;

use super::connection::connect;
use super::signs::Signs;
use super::stored_image;
use super::{Stop, show};
use crate::boots::boot::Boot;
use crate::boots::reading::{self, Seen};
use crate::boots::record::{BootRecord, BootState};
use crate::boots::shared::Shared;
use crate::boots::step::{Step, StepState};
use crate::boots::time::Timestamp;
use crate::store::StoredImage;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// However slowly a host reads, this is too long.
const LONGEST: Duration = Duration::from_hours(24);

/// What came of the waiting, in words.
enum Outcome {
    Booted(String),
    /// Nothing that the boot waits for can be seen.
    Unknown(String),
}

/// Waits until the host has booted, or for as long as it may take. Where nothing can show whether it has, the BMC is left
/// as it is.
pub(super) async fn wait(
    shared: &Arc<Shared>,
    boot: &Arc<Boot>,
    call: Option<watch::Receiver<Option<Call>>>,
) -> Result<(), Stop> {
    let mut waiting = Waiting::new(shared, boot, call)?;
    let result = waiting.until_over().await;
    waiting.signs.close().await;
    match result? {
        Outcome::Booted(detail) => {
            restore_continuous(shared, boot).await;
            let change = |record: &mut BootRecord| {
                record.end_reading();
                record.booted(detail);
            };
            shared.change(boot, change).await?;
            tracing::info!(boot = %boot.id(), "the host of a boot has booted");
        }
        Outcome::Unknown(detail) => {
            tracing::warn!(boot = %boot.id(), detail, "whether the host of a boot has booted is not known");
            shared.change(boot, |record| record.unknown(detail)).await?;
        }
    }
    Ok(())
}

struct Waiting<'a> {
    shared: &'a Arc<Shared>,
    boot: &'a Arc<Boot>,
    signs: Signs<'a>,
    image: Arc<StoredImage>,
    /// When the host was switched on.
    powered: Timestamp,
}

impl<'a> Waiting<'a> {
    fn new(
        shared: &'a Arc<Shared>,
        boot: &'a Arc<Boot>,
        call: Option<watch::Receiver<Option<Call>>>,
    ) -> Result<Self, Stop> {
        let (image, _) = stored_image::of(shared, boot)?;
        let powered = boot.record().step(Step::Power).and_then(|step| step.ended).unwrap_or_else(Timestamp::now);
        Ok(Self { shared, boot, signs: Signs::new(shared, boot, call), image, powered })
    }

    async fn until_over(&mut self) -> Result<Outcome, Stop> {
        loop {
            let record = self.boot.record();
            if record.state != BootState::Running {
                return Err(Stop::Deleted);
            }
            let seen = self.look(&record).await?;
            self.note_reading(&record, &seen).await?;
            if let Some(shown) = self.signs.look(&record, &seen).await? {
                return Ok(Outcome::Booted(shown));
            }
            let waited = self.powered.until(Timestamp::now());
            let limit = record.options.booted_within();
            let end = waited >= LONGEST || (waited >= limit && !seen.goes_on);
            // Where the BMC has its own copy of the image, nobody needs this server any more: there is nothing to wait for.
            if (end || seen.copied)
                && let Some(reasons) = self.signs.all_hidden(&record, &seen, end)
            {
                return Ok(Outcome::Unknown(unknown(&record, &seen, &reasons)));
            }
            if end {
                return Err(Stop::Failed(too_late(&record, &seen, waited.min(LONGEST)).into()));
            }
            show(self.boot, progress(&record, &seen, waited, limit));
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn look(&self, record: &Arc<BootRecord>) -> Result<Seen, Stop> {
        let (image, record, started) = (Arc::clone(&self.image), Arc::clone(record), self.boot.started());
        let seen = tokio::task::spawn_blocking(move || reading::look(&image, &record, started)).await;
        Ok(seen.map_err(std::io::Error::other)?)
    }

    async fn note_reading(&self, record: &BootRecord, seen: &Seen) -> Result<(), Stop> {
        let open = record.step(Step::Reading).is_some_and(|step| step.state == StepState::Running);
        if let (true, Some(detail)) = (open, seen.since_start()) {
            let change = |record: &mut BootRecord| {
                record.done(Step::Reading, detail);
                record.begin(Step::Booted);
            };
            self.shared.change(self.boot, change).await?;
        }
        Ok(())
    }
}

/// A boot override that is no longer wanted, and would not end by itself.
async fn restore_continuous(shared: &Arc<Shared>, boot: &Arc<Boot>) {
    let set = boot.record().at_bmc.as_ref().and_then(|at_bmc| at_bmc.before.clone()).filter(|set| !set.once);
    let Some(set) = set else { return };
    let restored = async {
        let bmc = connect(shared, boot).await?;
        let restored = bmc.restore(&set).await;
        bmc.close().await;
        Ok::<_, Stop>(restored?)
    };
    let text = match restored.await {
        Ok(_) => "the boot override, which was for every boot, is as it was".to_owned(),
        Err(Stop::Failed(why) | Stop::Later(why)) => {
            format!("the boot override, which is for every boot, could not be set back: {}", why.text)
        }
        Err(_) => return,
    };
    // It is said; the disk is asked again by the step that follows.
    let _ = shared.change(boot, |record| record.remark(text)).await;
}

fn progress(record: &BootRecord, seen: &Seen, waited: Duration, limit: Duration) -> String {
    let waits: Vec<&str> = record.options.wait_for.iter().map(|evidence| evidence.as_str()).collect();
    let late = if waited >= limit {
        format!("; past the limit of {}, but the image is still being read", duration(limit))
    } else {
        String::new()
    };
    format!("{}; waiting for {} for {}{late}", seen.text, waits.join(" or "), duration(waited))
}

/// What can be said of a host where nothing shows whether it has booted.
fn unknown(record: &BootRecord, seen: &Seen, reasons: &[String]) -> String {
    let read = match seen.since_start() {
        Some(read) => format!(" Since then the image was read ({read}), which is not what the boot waits for."),
        None => String::new(),
    };
    format!(
        "the host was switched on, and dayone cannot tell whether it has booted ({}).{read} Nothing was ejected or restored: \
         look at the host's console, then DELETE /v1/boots/{} ejects the medium. Another sign, such as call-home or \
         reachable, does not depend on the BMC",
        reasons.join("; "),
        record.id
    )
}

fn too_late(record: &BootRecord, seen: &Seen, waited: Duration) -> String {
    let waits: Vec<&str> = record.options.wait_for.iter().map(|evidence| evidence.as_str()).collect();
    let hint = if seen.since_start().is_some() {
        "the host has read the image, so its firmware boots from it: look at its console for what its system says"
    } else if seen.nothing {
        "nobody has read the image: check that the BMC reaches the media address, and that the host's firmware does not \
         skip virtual media (boot mode, Secure Boot)"
    } else {
        "the host has not read the image since it was switched on: look at its console, and at the boot order and the \
         boot mode"
    };
    format!(
        "the host has not booted within {} of being switched on (waited for {}); {}; {hint}. The medium is still \
         inserted; DELETE /v1/boots/{} ejects it",
        duration(waited),
        waits.join(" or "),
        seen.text,
        record.id
    )
}

fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}
