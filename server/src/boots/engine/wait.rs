//! Waiting for a host that was switched on: does it read the image, and does its system come up?

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::connection::connect;
use super::steps::stored;
use super::{Stop, show};
use crate::boots::boot::Boot;
use crate::boots::evidence::Evidence;
use crate::boots::reading::{self, Seen};
use crate::boots::record::{BootRecord, BootState};
use crate::boots::service::Shared;
use crate::boots::step::{Step, StepState};
use crate::boots::time::Timestamp;
use crate::media::Call;
use crate::redfish::bmc::Bmc;
use crate::store::StoredImage;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Between two tries to reach the host.
const REACH: Duration = Duration::from_secs(5);
/// How long a host may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// Between two questions to the BMC, which has other things to do.
const ASK: Duration = Duration::from_secs(15);
/// A port that most systems answer on. One that refuses has answered as well.
const PORT: u16 = 22;
/// However slowly a host reads, this is too long.
const LONGEST: Duration = Duration::from_hours(24);

/// Waits until the host has booted, or for as long as it may take.
pub(super) async fn wait(
    shared: &Arc<Shared>,
    boot: &Arc<Boot>,
    call: Option<watch::Receiver<Option<Call>>>,
) -> Result<(), Stop> {
    let mut waiting = Waiting::new(shared, boot, call)?;
    let result = waiting.until_booted().await;
    if let Some(bmc) = waiting.bmc.take() {
        bmc.close().await;
    }
    let detail = result?;
    restore_continuous(shared, boot).await;
    shared
        .change(boot, |record| {
            if record.step(Step::Reading).is_some_and(|step| step.state == StepState::Running) {
                record.skip(Step::Reading, "nothing was seen to be read after the host was switched on");
            }
            record.booted(detail);
        })
        .await?;
    tracing::info!(boot = %boot.id(), "the host of a boot has booted");
    Ok(())
}

struct Waiting<'a> {
    shared: &'a Arc<Shared>,
    boot: &'a Arc<Boot>,
    call: Option<watch::Receiver<Option<Call>>>,
    image: Arc<StoredImage>,
    /// When the host was switched on.
    powered: Timestamp,
    bmc: Option<Bmc>,
    /// Whether the BMC says how far the boot has come, as far as is known.
    tells_progress: bool,
    next_reach: Instant,
    next_ask: Instant,
}

impl<'a> Waiting<'a> {
    fn new(
        shared: &'a Arc<Shared>,
        boot: &'a Arc<Boot>,
        call: Option<watch::Receiver<Option<Call>>>,
    ) -> Result<Self, Stop> {
        let (image, _) = stored(shared, boot)?;
        let powered = boot.record().step(Step::Power).and_then(|step| step.ended).unwrap_or_else(Timestamp::now);
        let now = Instant::now();
        Ok(Self { shared, boot, call, image, powered, bmc: None, tells_progress: true, next_reach: now, next_ask: now })
    }

    /// What showed that the host has booted.
    async fn until_booted(&mut self) -> Result<String, Stop> {
        loop {
            let record = self.boot.record();
            if record.state != BootState::Running {
                return Err(Stop::Deleted);
            }
            let seen = self.look(&record).await?;
            self.note_reading(&record, &seen).await?;
            if let Some(shown) = self.evidence(&record, &seen).await? {
                return Ok(shown);
            }
            let waited = self.powered.until(Timestamp::now());
            let limit = record.options.booted_within();
            if waited >= LONGEST || (waited >= limit && !seen.goes_on) {
                return Err(Stop::Failed(too_late(&record, &seen, waited.min(LONGEST)).into()));
            }
            show(self.boot, progress(&record, &seen, waited, limit));
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn look(&self, record: &Arc<BootRecord>) -> Result<Seen, Stop> {
        let (image, record) = (Arc::clone(&self.image), Arc::clone(record));
        let seen = tokio::task::spawn_blocking(move || reading::look(&image, &record)).await;
        Ok(seen.map_err(std::io::Error::other)?)
    }

    async fn note_reading(&self, record: &BootRecord, seen: &Seen) -> Result<(), Stop> {
        let open = record.step(Step::Reading).is_some_and(|step| step.state == StepState::Running);
        if let (true, Some(detail)) = (open, seen.since_power_on()) {
            let change = |record: &mut BootRecord| {
                record.done(Step::Reading, detail);
                record.begin(Step::Booted);
            };
            self.shared.change(self.boot, change).await?;
        }
        Ok(())
    }

    /// Any of what the boot waits for.
    async fn evidence(&mut self, record: &BootRecord, seen: &Seen) -> Result<Option<String>, Stop> {
        let call = self.call.as_ref().and_then(|call| call.borrow().clone());
        if let Some(call) = call {
            let peer = call.peer.map(|peer| peer.ip().to_canonical());
            let is_own = peer.is_some_and(|peer| record.addresses.contains(&peer));
            if is_own || !self.shared.is_shared(self.boot) {
                return Ok(Some(called(record, &call)));
            }
            self.call = None;
            let remark = "a host called home, and others boot from the same image: which one it was cannot be told";
            self.shared.change(self.boot, |record| record.remark(remark)).await?;
        }
        for evidence in &record.options.wait_for {
            let shown = match evidence {
                Evidence::CallHome => None,
                Evidence::Reading => seen.since_power_on(),
                // Nothing else will ever show it.
                Evidence::BootProgress if !self.tells_progress && record.options.wait_for.len() == 1 => {
                    seen.since_power_on()
                }
                Evidence::Reachable => self.reach(record).await,
                Evidence::BootProgress => self.ask(record).await?,
            };
            if shown.is_some() {
                return Ok(shown);
            }
        }
        Ok(None)
    }

    /// Whether one of the host's addresses answers.
    async fn reach(&mut self, record: &BootRecord) -> Option<String> {
        if Instant::now() < self.next_reach {
            return None;
        }
        self.next_reach = Instant::now() + REACH;
        let tries = record.addresses.iter().take(8).map(|address| async move {
            let connected = timeout(ANSWER, TcpStream::connect(SocketAddr::new(*address, PORT))).await;
            match connected {
                Ok(Ok(_)) => true,
                Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
                Err(_) => false,
            }
            .then_some(address)
        });
        let answered = join_all(tries).await.into_iter().flatten().next();
        answered.map(|address| format!("{address} answers"))
    }

    /// Whether the BMC says that the operating system runs.
    async fn ask(&mut self, record: &BootRecord) -> Result<Option<String>, Stop> {
        if !self.tells_progress || Instant::now() < self.next_ask {
            return Ok(None);
        }
        self.next_ask = Instant::now() + ASK;
        let bmc = match self.bmc.take() {
            Some(bmc) => bmc,
            // A BMC that is busy with the boot may answer at the next try.
            None => match connect(self.shared, self.boot).await {
                Ok(bmc) => bmc,
                Err(Stop::Failed(_) | Stop::Later(_)) => return Ok(None),
                Err(stop) => return Err(stop),
            },
        };
        let progress = bmc.boot_progress().await;
        self.bmc = Some(bmc);
        match progress {
            Ok(Some(progress)) if progress.is_running() => {
                Ok(Some("the BMC says that an operating system runs".to_owned()))
            }
            Ok(Some(_)) => Ok(None),
            Ok(None) => {
                self.tells_progress = false;
                let remark = if record.options.wait_for.len() == 1 {
                    "the BMC does not say how far a boot has come (it has no BootProgress): that the host reads the image \
                     is all that there is to see"
                } else {
                    "the BMC does not say how far a boot has come (it has no BootProgress)"
                };
                self.shared.change(self.boot, |record| record.remark(remark)).await?;
                Ok(None)
            }
            Err(_) => {
                self.bmc = None;
                Ok(None)
            }
        }
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

/// The host's call in words, with what its address says.
fn called(record: &BootRecord, call: &Call) -> String {
    let Some(peer) = call.peer.map(|peer| peer.ip().to_canonical()) else { return "the host called home".to_owned() };
    let verdict = if record.addresses.is_empty() {
        String::new()
    } else if record.addresses.contains(&peer) {
        ", one of its static addresses".to_owned()
    } else {
        let own: Vec<String> = record.addresses.iter().map(ToString::to_string).collect();
        format!(
            ", which is none of its static addresses ({}): something on the way translates addresses, or its network is \
             not as described",
            own.join(", ")
        )
    };
    format!("the host called home from {peer}{verdict}")
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

fn too_late(record: &BootRecord, seen: &Seen, waited: Duration) -> String {
    let waits: Vec<&str> = record.options.wait_for.iter().map(|evidence| evidence.as_str()).collect();
    let hint = if seen.since_power_on().is_some() {
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
