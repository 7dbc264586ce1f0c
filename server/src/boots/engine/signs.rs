//! The signs that a host has booted, and which of them can be seen at all. Only what came after the host was switched on
//! is a sign; what was there before, or may have been, is none.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use media::Call;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::Stop;
use super::connection::connect;
use crate::boots::boot::Boot;
use crate::boots::evidence::Evidence;
use crate::boots::reading::Seen;
use crate::boots::record::{BootRecord, Started};
use crate::boots::shared::Shared;
use redfish::bmc::{Bmc, BootProgress};

/// Between two tries to reach the host.
const REACH: Duration = Duration::from_secs(5);
/// How long a host may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// Between two questions to the BMC, which has other things to do.
const ASK: Duration = Duration::from_secs(15);
/// A port that most systems answer on. One that refuses has answered as well.
const PORT: u16 = 22;

/// What the BMC has said of the progress of the boot since the host was switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// It has not answered.
    Nothing,
    /// That it does not say how far a boot comes.
    NoProgress,
    /// That an operating system runs, as it said before the host was switched on.
    StillRunning,
    /// Something else than that an operating system runs.
    Progress,
}

/// Looks for the signs of one boot.
pub(super) struct Signs<'a> {
    shared: &'a Arc<Shared>,
    boot: &'a Arc<Boot>,
    call: Option<watch::Receiver<Option<Call>>>,
    bmc: Option<Bmc>,
    told: Told,
    /// Whether none of the host's addresses has answered at some time since it was switched on.
    was_unreachable: bool,
    next_reach: Instant,
    next_ask: Instant,
}

impl<'a> Signs<'a> {
    pub(super) fn new(
        shared: &'a Arc<Shared>,
        boot: &'a Arc<Boot>,
        call: Option<watch::Receiver<Option<Call>>>,
    ) -> Self {
        let now = Instant::now();
        Self {
            shared,
            boot,
            call,
            bmc: None,
            told: Told::Nothing,
            was_unreachable: false,
            next_reach: now,
            next_ask: now,
        }
    }

    /// Ends the session at the BMC, if there is one.
    pub(super) async fn close(&mut self) {
        if let Some(bmc) = self.bmc.take() {
            bmc.close().await;
        }
    }

    /// Any of what the boot waits for.
    pub(super) async fn look(&mut self, record: &BootRecord, seen: &Seen) -> Result<Option<String>, Stop> {
        for evidence in &record.options.wait_for {
            let shown = match evidence {
                Evidence::CallHome => self.called(record).await?,
                Evidence::Reading => seen.since_start(),
                Evidence::Reachable => self.reach(record).await,
                Evidence::BootProgress => self.ask(record).await?,
            };
            if shown.is_some() {
                return Ok(shown);
            }
        }
        Ok(None)
    }

    /// Why none of what the boot waits for can be seen, each in words; none if one of them can. At the `end` of the time
    /// that the host has, what was never seen to be absent cannot be told from what was there before.
    pub(super) fn all_hidden(&self, record: &BootRecord, seen: &Seen, end: bool) -> Option<Vec<String>> {
        let mut wait_for = record.options.wait_for.iter();
        wait_for.try_fold(Vec::new(), |mut reasons, evidence| {
            reasons.push(format!("{evidence}: {}", self.hidden(*evidence, record, seen, end)?));
            Some(reasons)
        })
    }

    fn hidden(&self, evidence: Evidence, record: &BootRecord, seen: &Seen, end: bool) -> Option<&'static str> {
        match evidence {
            Evidence::CallHome => self.call.is_none().then_some(
                "other hosts boot from the same image at the same time, and dayone cannot tell whose call it was",
            ),
            Evidence::Reading => (seen.copied && seen.since_start().is_none())
                .then_some("the BMC copies the image, so dayone does not see what the host reads"),
            Evidence::Reachable if record.addresses.is_empty() => {
                Some("dayone knows no static address of the host")
            }
            Evidence::Reachable => (end && !self.was_unreachable && !was_off(record)).then_some(
                "an address of the host answered without a pause, so the system from before may be the one that answers",
            ),
            Evidence::BootProgress => match self.told {
                Told::NoProgress => Some("the BMC does not say how far a boot has come (its System has no BootProgress)"),
                Told::Nothing if end => Some("the BMC has not answered since"),
                Told::StillRunning if end => {
                    Some("the BMC said OSRunning before the host was switched on, and has said nothing else since")
                }
                _ => None,
            },
        }
    }

    async fn called(&mut self, record: &BootRecord) -> Result<Option<String>, Stop> {
        let Some(call) = self.call.as_ref().and_then(|call| call.borrow().clone()) else { return Ok(None) };
        let peer = call.peer.map(|peer| peer.ip().to_canonical());
        let is_own = peer.is_some_and(|peer| record.addresses.contains(&peer));
        if is_own || !self.shared.is_shared(self.boot) {
            return Ok(Some(called(record, &call)));
        }
        self.call = None;
        let remark = "a host called home, and others boot from the same image: which one it was cannot be told";
        self.shared.change(self.boot, |record| record.remark(remark)).await?;
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
        self.was_unreachable |= answered.is_none();
        let counts = self.was_unreachable || was_off(record);
        answered.filter(|_| counts).map(|address| format!("{address} answers"))
    }

    /// Whether the BMC says that the operating system runs.
    async fn ask(&mut self, record: &BootRecord) -> Result<Option<String>, Stop> {
        if Instant::now() < self.next_ask {
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
        let Ok(progress) = bmc.boot_progress().await else { return Ok(None) };
        self.bmc = Some(bmc);
        let before = self.told;
        let started = record.at_bmc.as_ref().and_then(|at_bmc| at_bmc.started.as_ref());
        let Some(progress) = progress else {
            self.told = Told::NoProgress;
            if before != Told::NoProgress {
                let remark = "the BMC does not say how far a boot has come (its System has no BootProgress)";
                self.shared.change(self.boot, |record| record.remark(remark)).await?;
            }
            return Ok(None);
        };
        if !progress.is_running() {
            self.told = Told::Progress;
        } else if before == Told::Progress || is_new(&progress, started) {
            return Ok(Some("the BMC says that an operating system runs".to_owned()));
        } else {
            self.told = Told::StillRunning;
        }
        Ok(None)
    }
}

/// Whether the BMC has said since the start of the host that an operating system runs: some go on saying it of the one
/// that ran before. What was said before is not known of a boot that goes on after a restart in the middle of its start.
fn is_new(progress: &BootProgress, started: Option<&Started>) -> bool {
    let Some(started) = started else { return false };
    let times = progress.last_state_time.as_ref().zip(started.os_running_since.as_ref());
    !started.os_running || times.is_some_and(|(now, before)| now != before)
}

/// Whether the host was seen to be off before it was started. Records of older versions do not say; these have only
/// the BMCs that have no other way leave that open.
fn was_off(record: &BootRecord) -> bool {
    record.at_bmc.as_ref().and_then(|at_bmc| at_bmc.started.as_ref()).is_none_or(|started| started.was_off)
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
