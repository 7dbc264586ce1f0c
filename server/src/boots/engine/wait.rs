//! Waits for a host that was switched on to read the image, and for its system to come up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use media::ExpectedCall;
use redfish::bmc::{Bmc, BootOverride, Found, PowerState};

use super::repetition::Repetition;
use super::signs::Signs;
use super::{Stop, medium, stored_image};
use crate::boots::boot::Boot;
use crate::boots::evidence::Evidence;
use crate::boots::method::BootMethod;
use crate::boots::reading::{self, Reads, Requested};
use crate::boots::record::{BootRecord, BootState};
use crate::boots::shared::Shared;
use crate::boots::step::{Step, StepState};
use crate::boots::time::Timestamp;
use crate::store::StoredImage;

/// The interval between two checks.
const INTERVAL: Duration = Duration::from_secs(1);
/// The longest wait, however slowly a host reads.
const MAX_WAIT: Duration = Duration::from_hours(24);

/// The result of waiting, with its description.
enum Outcome {
    Booted(String),
    /// dayone can see none of the signs that the boot waits for.
    Unknown(String),
}

/// Waits until the host has booted, or its time is over. If dayone can see no sign, it leaves the BMC as it is.
pub(super) async fn wait(shared: &Arc<Shared>, boot: &Arc<Boot>, call: Option<ExpectedCall>) -> Result<(), Stop> {
    let mut waiting = Waiting::new(shared, boot, call)?;
    let result = waiting.until_over().await;
    if matches!(result, Ok(Outcome::Booted(_))) {
        Box::pin(restore_continuous(shared, boot, &mut waiting.signs)).await;
    }
    waiting.signs.close().await;
    match result? {
        Outcome::Booted(detail) => {
            let change = |record: &mut BootRecord| {
                record.end_reading();
                record.booted(detail);
            };
            shared.change(boot, change).await?;
            waiting.signs.recorded();
            tracing::info!(boot = %boot.id(), "a host has booted");
        }
        Outcome::Unknown(detail) => {
            tracing::warn!(boot = %boot.id(), detail, "dayone cannot tell whether a host has booted");
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
    /// The same moment by the monotonic clock: the time of day may be set while the boot waits.
    powered_at: Instant,
    repetition: Repetition,
}

impl<'a> Waiting<'a> {
    fn new(shared: &'a Arc<Shared>, boot: &'a Arc<Boot>, call: Option<ExpectedCall>) -> Result<Self, Stop> {
        let (image, _) = stored_image(shared, boot)?;
        let powered = boot.record().step(Step::Power).and_then(|step| step.ended).unwrap_or_else(Timestamp::now);
        // If dayone was restarted since, only the time of day tells how long ago that was.
        let now = Instant::now();
        let by_time_of_day = || now.checked_sub(powered.until(Timestamp::now())).unwrap_or(now);
        let powered_at = boot.powered().unwrap_or_else(by_time_of_day);
        Ok(Self {
            shared,
            boot,
            signs: Signs::new(shared, boot, call),
            image,
            powered,
            powered_at,
            repetition: Repetition::new(now),
        })
    }

    async fn until_over(&mut self) -> Result<Outcome, Stop> {
        loop {
            let record = self.boot.record();
            if record.state != BootState::Running {
                return Err(Stop::Deleted);
            }
            let reads = self.reads(&record).await?;
            self.note_reading(&record, &reads).await?;
            if let Some((evidence, sign)) = self.signs.check(&record, &reads).await? {
                let is_of_any_system = matches!(evidence, Evidence::Reachable | Evidence::BootProgress);
                // The host may have read the image while dayone looked for the sign.
                let reads = self.reads(&record).await?;
                self.note_reading(&record, &reads).await?;
                if !is_of_any_system || reads.requested != Requested::Never {
                    return Ok(Outcome::Booted(sign));
                }
                self.signs.note_other_system(sign).await?;
            }
            let waited = self.powered_at.elapsed();
            let limit = record.options.booted_within();
            let repeats = self.repeats(&reads, limit);
            let end = waited >= MAX_WAIT || (waited >= limit && (repeats || !reads.in_progress));
            // If the BMC has its own copy of the image, dayone will see no more reads, so there is nothing to wait for.
            if (end || reads.copied)
                && let Some(reasons) = self.signs.all_hidden(&record, &reads, end)
            {
                let then = self.advice(", then ", &record, "ejects the medium");
                return Ok(Outcome::Unknown(unknown(&reads, &reasons, &then)));
            }
            if end {
                let hint = Box::pin(self.hint(&record, &reads, repeats)).await?;
                let medium = Box::pin(self.medium(&record)).await?;
                let end = medium + &self.advice("; ", &record, "restores the BMC");
                return Err(Stop::Failed(too_late(&record, &reads, waited.min(MAX_WAIT), &hint, &end).into()));
            }
            self.boot.show_progress(progress(&record, &reads, waited, limit));
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                // The host waits for its answer.
                () = self.signs.called() => {}
            }
        }
    }

    /// Whether the image is being read, but for long nothing of it that was not read before.
    fn repeats(&mut self, reads: &Reads, limit: Duration) -> bool {
        // Of several hosts with one image, each reads what another one may have read before.
        self.repetition.goes_on(reads, limit, Instant::now()) && !self.shared.was_shared_since(self.boot, self.powered)
    }

    /// What the request to delete the boot does, after `begin`. Empty if users cannot send it.
    fn advice(&self, begin: &str, record: &BootRecord, what: &str) -> String {
        if !self.shared.settings().has_api {
            return String::new();
        }
        format!("{begin}DELETE /v1/boots/{} {what}", record.id)
    }

    /// Why the host may not have booted, and what to do.
    async fn hint(&mut self, record: &BootRecord, reads: &Reads, repeats: bool) -> Result<String, Stop> {
        self.boot.show_progress("reading whether the host is on");
        if let Ok(bmc) = self.signs.connect().await? {
            let state = bmc.power_state().await;
            self.signs.keep(bmc);
            if matches!(state, Ok(PowerState::Off)) {
                return Ok(
                    "the host is off, although dayone has switched it on: look at the event log of its BMC".to_owned()
                );
            }
        }
        let reader = match record.method {
            BootMethod::VirtualMedia => "the BMC",
            BootMethod::Http => "the host's firmware",
        };
        Ok(match self.signs.other_system() {
            Some(sign) if reads.requested == Requested::Never => format!(
                "the host runs a system ({sign}), but nobody has read the image since the host was switched on: it started from \
                 something else, such as its disk. Check the boot order and the boot mode, and that {reader} reaches the media URL"
            ),
            _ if repeats => "the host still reads the image, but only parts that it has read before, so it may restart again and again: \
                             look at its console"
                .to_owned(),
            _ => hint(record, reads).to_owned(),
        })
    }

    /// What the slot of the image shows, as a sentence without its end.
    async fn medium(&mut self, record: &BootRecord) -> Result<String, Stop> {
        let at_bmc = record.at_bmc.as_ref();
        let Some((at_bmc, slot)) = at_bmc.and_then(|at_bmc| Some((at_bmc, at_bmc.slot.as_ref()?))) else {
            return Ok("The BMC may still have the URL".to_owned());
        };
        let unknown = |reason| format!("The medium may still be in {slot}, which dayone could not read ({reason})");
        self.boot.show_progress("reading whether the medium is still inserted");
        let bmc = match self.signs.connect().await? {
            Ok(bmc) => bmc,
            Err(reason) => return Ok(unknown(reason)),
        };
        let read = bmc.media_state(slot).await;
        self.signs.keep(bmc);
        let state = match read {
            Ok(state) => state,
            Err(error) => return Ok(unknown(error.to_string())),
        };
        let (url, shown_as) = (self.shared.inserted_url(record), at_bmc.plan.shown_as.as_ref());
        Ok(match medium::found(&state, &url, shown_as) {
            Found::Image => "The medium is still inserted".to_owned(),
            Found::Other => format!("By now, {slot} has another medium"),
            Found::Nothing if medium::is_named(&state, &url, shown_as) => {
                format!("{slot} shows the image, but not as connected")
            }
            Found::Nothing => format!("{slot} is empty: the BMC has lost the medium, or somebody has ejected it"),
        })
    }

    async fn reads(&self, record: &Arc<BootRecord>) -> Result<Reads, Stop> {
        let (image, record, boot) = (Arc::clone(&self.image), Arc::clone(record), Arc::clone(self.boot));
        Ok(self.shared.blocking.run(move || reading::reads(&image, &record, &boot)).await?)
    }

    async fn note_reading(&self, record: &BootRecord, reads: &Reads) -> Result<(), Stop> {
        let open = record.step(Step::Reading).is_some_and(|step| step.state == StepState::Running);
        if let (true, Some(detail)) = (open, reads.since_start.clone()) {
            let change = |record: &mut BootRecord| {
                record.done(Step::Reading, detail);
                record.begin(Step::Booted);
            };
            self.shared.change(self.boot, change).await?;
        }
        Ok(())
    }
}

/// Restores a boot override that applies to every boot. Others end by themselves.
async fn restore_continuous(shared: &Arc<Shared>, boot: &Arc<Boot>, signs: &mut Signs<'_>) {
    let set = boot.record().at_bmc.as_ref().and_then(|at_bmc| at_bmc.boot_override.clone()).filter(|set| !set.once);
    let Some(set) = set else { return };
    let failed = |reason| format!("the boot override applies to every boot, and dayone could not restore it: {reason}");
    let text = match signs.connect().await {
        Ok(Ok(bmc)) => {
            let text = match bmc.restore(&set).await {
                Ok(is_restored) => restored(&bmc, &set, is_restored).await,
                Err(error) => failed(error.to_string()),
            };
            signs.keep(bmc);
            text
        }
        Ok(Err(reason)) => failed(reason),
        Err(_) => return,
    };
    // If the record cannot be written, the next step reports that.
    let _ = shared.change(boot, |record| record.remark(text)).await;
}

/// What has become of an override for every boot.
async fn restored(bmc: &Bmc, set: &BootOverride, is_restored: bool) -> String {
    let text = match (is_restored, set.order.is_some()) {
        (true, true) => "the boot order from before is staged for the host's next restart",
        (true, false) => "the boot override applied to every boot, and is restored",
        (false, true) => "dayone has left the boot order: it is the one from before, or somebody has set another since",
        (false, false) => return not_restored(bmc, set).await,
    };
    text.to_owned()
}

async fn not_restored(bmc: &Bmc, set: &BootOverride) -> String {
    match bmc.other_override(set).await {
        Ok(None) => "the BMC no longer has the boot override, which applied to every boot".to_owned(),
        Ok(Some(other)) => {
            format!("dayone has left the boot override, because the BMC shows one that dayone has not set: {other}")
        }
        Err(error) => format!("dayone has left the boot override, and could not read what the BMC shows now: {error}"),
    }
}

fn progress(record: &BootRecord, reads: &Reads, waited: Duration, limit: Duration) -> String {
    let late = if waited >= limit {
        format!("; past the limit of {}, but the image is still being read", duration(limit))
    } else {
        String::new()
    };
    format!("{}; waiting for {} for {}{late}", reads.text, signs(record), duration(waited))
}

/// The signs that the boot waits for, as text.
fn signs(record: &BootRecord) -> String {
    let signs: Vec<String> = record.options.wait_for.iter().map(ToString::to_string).collect();
    signs.join(" or ")
}

/// Why dayone cannot tell whether the host has booted, and what to do. `then` is what to do after a look at the console.
fn unknown(reads: &Reads, reasons: &[String], then: &str) -> String {
    let read = match &reads.since_start {
        Some(read) => format!(" Since then the image was read ({read}), which is not a sign that the boot waits for."),
        None => String::new(),
    };
    format!(
        "the host was switched on, and dayone cannot tell whether it has booted ({}).{read} dayone has ejected and restored \
         nothing: look at the host's console{then}. For the next boot, wait for call-home or reachable, which do not depend on \
         the BMC",
        reasons.join("; ")
    )
}

/// What the reads of the image say about a host that has not booted, and what to do.
fn hint(record: &BootRecord, reads: &Reads) -> &'static str {
    if reads.since_start.is_some() {
        if record.options.wait_for.contains(&Evidence::CallHome) {
            "the host has read the image, so its firmware boots from it: look at its console for errors of its system; if the system runs, \
             check that it reaches the media URL, through which it calls home"
        } else {
            "the host has read the image, so its firmware boots from it: look at its console for errors of its system"
        }
    } else if reads.requested == Requested::Never {
        match record.method {
            BootMethod::VirtualMedia => {
                "nobody has read the image since the host was switched on: check that the BMC reaches the media URL, and that the \
                 host's firmware does not skip virtual media (boot mode, Secure Boot)"
            }
            BootMethod::Http => {
                "nobody has read the image since the host was switched on: look at the host's console, and check that the firmware of \
                 the host gets an address by DHCP on a NIC that reaches the media URL, and that HTTP boot is enabled in the firmware's \
                 setup, also for http:// URLs"
            }
        }
    } else if reads.requested == Requested::Unknown {
        "dayone was restarted since then, and does not know what the host has read before: look at its console, and check the boot order \
         and the boot mode"
    } else if reads.requested == Requested::OnlyBefore {
        "nobody has requested the image since the BMC showed the host as on, but what was read before may be enough for a boot: look at \
         the host's console, and check the boot order and the boot mode"
    } else if reads.copied {
        "the BMC has a copy of the image, so dayone does not see what the host reads: look at its console, and check the boot order and \
         the boot mode"
    } else {
        "the host has not read the image since it was switched on: look at its console, and check the boot order and the \
         boot mode"
    }
}

fn too_late(record: &BootRecord, reads: &Reads, waited: Duration, hint: &str, end: &str) -> String {
    format!(
        "the host has not booted within {} of being switched on (waited for {}); {}; {hint}. {end}",
        duration(waited),
        signs(record),
        reads.text
    )
}

fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boots::credentials::CredentialsSource;
    use crate::boots::id::BootId;
    use crate::boots::samples::new_boot;

    #[test]
    fn a_host_that_is_to_call_home_may_run_and_not_reach_the_server() {
        let reads = Reads {
            text: String::new(),
            in_progress: false,
            distinct: 1,
            sent: 1,
            requested: Requested::Yes,
            copied: false,
            since_start: Some("all of it".to_owned()),
        };
        for (sign, calls) in [(Evidence::CallHome, true), (Evidence::Reachable, false)] {
            let mut new = new_boot(Some("worker-0"), "192.0.2.1");
            new.options.wait_for = vec![sign];
            let credentials = CredentialsSource::Encrypted(String::new());
            let record = BootRecord::new(BootId::after(None).unwrap(), new, credentials);
            let hint = hint(&record, &reads);
            assert_eq!(hint.contains("check that it reaches the media URL"), calls, "{hint}");
        }
    }
}
