//! The signs that a host has booted, and whether dayone can see them at this BMC. Only what certainly happened after the host
//! was switched on is a sign.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use media::{Call, ExpectedCall};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::{Stop, connect_with, find_credentials};
use crate::boots::boot::Boot;
use crate::boots::evidence::Evidence;
use crate::boots::reading::Reads;
use crate::boots::record::{BootRecord, Started};
use crate::boots::shared::Shared;
use crate::boots::time::Timestamp;
use redfish::Credentials;
use redfish::bmc::{Bmc, BootProgress};

/// The interval between two attempts to reach the host.
const REACH: Duration = Duration::from_secs(5);
/// How long a host may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// The interval between two queries to the BMC, which has other things to do.
const QUERY: Duration = Duration::from_secs(15);
/// A port that most systems answer on. To refuse a connection is an answer, too.
const PORT: u16 = 22;

/// What the BMC has reported as `BootProgress` since the host was switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reported {
    /// Nothing: it has not answered.
    Nothing,
    /// It has no `BootProgress`.
    Unsupported,
    /// `OSRunning`, perhaps of the system that ran before the host was switched on.
    StillRunning,
    /// Another state than `OSRunning`.
    Progress,
}

/// Credentials that the BMC has refused, and how it did so.
struct Refusal {
    credentials: Option<Credentials>,
    reason: String,
}

/// Looks for the signs of one boot.
pub(super) struct Signs<'a> {
    shared: &'a Arc<Shared>,
    boot: &'a Arc<Boot>,
    call: Option<ExpectedCall>,
    /// Whether a call came that may have been that of another host.
    has_ignored_call: bool,
    /// Boxed, because most of the time there is no connection.
    bmc: Option<Box<Bmc>>,
    /// The credentials of the last connection to the BMC.
    credentials: Option<Credentials>,
    refusal: Option<Refusal>,
    /// Why the last query to the BMC failed.
    failure: Option<String>,
    reported: Reported,
    /// The last sign of a system that was not started from the image: nobody had read the image.
    other_system: Option<String>,
    /// Whether there was a time since the host was switched on when none of its addresses answered.
    was_unreachable: bool,
    next_reach: Instant,
    next_query: Instant,
}

impl<'a> Signs<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, boot: &'a Arc<Boot>, call: Option<ExpectedCall>) -> Self {
        let now = Instant::now();
        Self {
            shared,
            boot,
            call,
            has_ignored_call: false,
            bmc: None,
            credentials: None,
            refusal: None,
            failure: None,
            reported: Reported::Nothing,
            other_system: None,
            was_unreachable: false,
            next_reach: now,
            next_query: now,
        }
    }

    /// Ends the session at the BMC, if there is one.
    pub(super) async fn close(&mut self) {
        if let Some(bmc) = self.bmc.take() {
            bmc.close().await;
        }
    }

    /// Connects to the BMC, or returns the connection that there is. Returns the reason if that fails. Sends no credentials that the BMC
    /// has refused: it may lock the account. The operator may correct them meanwhile.
    pub(super) async fn connect(&mut self) -> Result<Result<Box<Bmc>, String>, Stop> {
        if let Some(bmc) = self.bmc.take() {
            return Ok(Ok(bmc));
        }
        let connected = async {
            self.credentials = find_credentials(self.shared, self.boot).await?;
            let refusal = self.refusal.as_ref().filter(|refusal| refusal.credentials == self.credentials);
            match refusal {
                Some(refusal) => Err(Stop::Failed(refusal.reason.clone().into())),
                None => connect_with(self.shared, self.boot, self.credentials.clone()).await,
            }
        };
        match connected.await {
            Ok(bmc) => Ok(Ok(Box::new(bmc))),
            Err(stop) => Ok(Err(self.note_failure(stop).await?)),
        }
    }

    /// Keeps a connection for the next query.
    pub(super) fn keep(&mut self, bmc: Box<Bmc>) {
        self.bmc = Some(bmc);
    }

    /// Notes why the BMC does not answer, and returns it.
    async fn note_failure(&mut self, stop: Stop) -> Result<String, Stop> {
        let failure = match stop {
            Stop::Failed(failure) | Stop::Later(failure) => failure,
            stop => return Err(stop),
        };
        let reason = failure.text;
        if failure.refuses_credentials {
            let remark = format!(
                "{reason}. So that the BMC does not lock the account, dayone asks it no more while it waits for the host, unless the \
                 credentials change"
            );
            self.shared.change(self.boot, |record| record.remark(remark)).await?;
            self.refusal = Some(Refusal { credentials: self.credentials.clone(), reason: reason.clone() });
        }
        self.failure = Some(reason.clone());
        Ok(reason)
    }

    /// Waits until the host calls home. Never returns if dayone does not wait for its call.
    pub(super) async fn called(&mut self) {
        match &mut self.call {
            Some(call) => call.arrives().await,
            None => std::future::pending().await,
        }
    }

    /// Lets the host have its answer, if it has called: what follows from the call is in the record.
    pub(super) fn recorded(&mut self) {
        if let Some(call) = self.call.take() {
            call.recorded();
        }
    }

    /// Returns the first sign that the boot waits for and that dayone sees, with its description.
    pub(super) async fn check(
        &mut self,
        record: &BootRecord,
        reads: &Reads,
    ) -> Result<Option<(Evidence, String)>, Stop> {
        for evidence in &record.options.wait_for {
            let sign = match evidence {
                Evidence::CallHome => self.call_home(record).await?,
                Evidence::Reading => reads.since_start.clone(),
                Evidence::Reachable => self.reach(record).await,
                // On the heap, and only while it runs: thousands of boots may wait for their hosts.
                Evidence::BootProgress => Box::pin(self.query(record)).await?,
            };
            if let Some(sign) = sign {
                return Ok(Some((*evidence, sign)));
            }
        }
        Ok(None)
    }

    /// Notes a sign of a system that runs although nobody has read the image, such as that of the host's disk.
    pub(super) async fn note_other_system(&mut self, sign: String) -> Result<(), Stop> {
        if self.other_system.is_none() {
            let remark = format!(
                "{sign}, but nobody has read the image since the host was switched on, so this is no sign that the host has booted from it"
            );
            self.shared.change(self.boot, |record| record.remark(remark)).await?;
        }
        self.other_system = Some(sign);
        Ok(())
    }

    /// The last sign of a system that was not started from the image.
    pub(super) fn other_system(&self) -> Option<&str> {
        self.other_system.as_deref()
    }

    /// Why dayone can see none of the signs that the boot waits for, with a reason for each. `None` if it can see one of them.
    /// `end`: the host's time is over. A sign that was visible all the time may then be from before.
    pub(super) fn all_hidden(&self, record: &BootRecord, reads: &Reads, end: bool) -> Option<Vec<String>> {
        if self.other_system.is_some() {
            return None;
        }
        let mut wait_for = record.options.wait_for.iter();
        wait_for.try_fold(Vec::new(), |mut reasons, evidence| {
            reasons.push(format!("{evidence}: {}", self.hidden(*evidence, record, reads, end)?));
            Some(reasons)
        })
    }

    fn hidden(&self, evidence: Evidence, record: &BootRecord, reads: &Reads, end: bool) -> Option<String> {
        let reason = match evidence {
            // Until the end, the host's own call may still come.
            Evidence::CallHome => (self.call.is_none() || (end && self.has_ignored_call))
                .then_some("other hosts boot from the same image, and dayone cannot tell whose call it was"),
            Evidence::Reading => (reads.copied && reads.since_start.is_none())
                .then_some("the BMC copies the image, so dayone does not see what the host reads"),
            Evidence::Reachable if record.addresses.is_empty() => {
                Some("dayone knows no static address of the host")
            }
            Evidence::Reachable => (end && !self.was_unreachable && !was_off(record)).then_some(
                "an address of the host answered without a pause, so the answer may come from the system that ran before",
            ),
            Evidence::BootProgress => return self.hidden_progress(end),
        };
        reason.map(str::to_owned)
    }

    fn hidden_progress(&self, end: bool) -> Option<String> {
        match (self.reported, &self.refusal) {
            (Reported::Unsupported, _) => Some(UNSUPPORTED.to_owned()),
            (_, Some(refusal)) if end => Some(format!("{}; dayone has not asked the BMC again", refusal.reason)),
            (Reported::Nothing, None) if end => {
                let reason = self.failure.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                Some(format!("the BMC has not reported it since{reason}"))
            }
            (Reported::StillRunning, None) if end => Some(
                "the BMC reported OSRunning before the host was switched on, and has reported no other OSRunning since"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    async fn call_home(&mut self, record: &BootRecord) -> Result<Option<String>, Stop> {
        let Some(call) = self.call.as_ref().and_then(ExpectedCall::call) else { return Ok(None) };
        let peer = call.peer.map(|peer| peer.ip().to_canonical());
        let is_own = peer.is_some_and(|peer| record.addresses.contains(&peer));
        // Another boot may have ended since the call, such as one that ejects its medium when its host has called.
        if is_own || !self.shared.was_shared_since(self.boot, Timestamp::of(call.at)) {
            return Ok(Some(describe_call(record, &call)));
        }
        if !self.has_ignored_call {
            let remark =
                "a host called home, but other hosts boot from the same image, and dayone cannot tell which one it was";
            self.shared.change(self.boot, |record| record.remark(remark)).await?;
            self.has_ignored_call = true;
        }
        self.call = self.call.take().and_then(|call| call.dismiss().ok());
        Ok(None)
    }

    /// Whether one of the host's addresses answers.
    async fn reach(&mut self, record: &BootRecord) -> Option<String> {
        if Instant::now() < self.next_reach {
            return None;
        }
        self.next_reach = Instant::now() + REACH;
        let attempts = record.addresses.iter().take(8).map(|address| async move {
            let connected = timeout(ANSWER, TcpStream::connect(SocketAddr::new(*address, PORT))).await;
            match connected {
                Ok(Ok(_)) => true,
                Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
                Err(_) => false,
            }
            .then_some(address)
        });
        let answered = join_all(attempts).await.into_iter().flatten().next();
        self.was_unreachable |= answered.is_none();
        let counts = self.was_unreachable || was_off(record);
        answered.filter(|_| counts).map(|address| format!("{address} answers"))
    }

    /// Whether the BMC reports that the operating system runs.
    async fn query(&mut self, record: &BootRecord) -> Result<Option<String>, Stop> {
        if Instant::now() < self.next_query {
            return Ok(None);
        }
        self.next_query = Instant::now() + QUERY;
        // A BMC that is busy with the boot may answer the next query.
        let Ok(bmc) = self.connect().await? else { return Ok(None) };
        let progress = match bmc.boot_progress().await {
            Ok(progress) => progress,
            Err(error) => {
                // A new connection would send a password again that the BMC has refused for lack of a session. This one asks for a session.
                if error.is_unavailable() {
                    self.bmc = Some(bmc);
                }
                self.note_failure(error.into()).await?;
                return Ok(None);
            }
        };
        self.bmc = Some(bmc);
        (self.refusal, self.failure) = (None, None);
        let before = self.reported;
        let started = record.at_bmc.as_ref().and_then(|at_bmc| at_bmc.started.as_ref());
        let Some(progress) = progress else {
            self.reported = Reported::Unsupported;
            if before != Reported::Unsupported {
                self.shared.change(self.boot, |record| record.remark(UNSUPPORTED)).await?;
            }
            return Ok(None);
        };
        if !progress.is_running() {
            self.reported = Reported::Progress;
        } else if is_new(&progress, started, before == Reported::Progress) {
            return Ok(Some("the BMC reports that an operating system runs".to_owned()));
        } else {
            self.reported = Reported::StillRunning;
        }
        Ok(None)
    }
}

const UNSUPPORTED: &str = "the BMC does not report the progress of a boot (its System has no BootProgress)";

/// Whether the BMC reports an operating system that was started after the host was switched on. Some BMCs keep reporting the
/// one that ran before, or report it again after the host was off. So if both times are known, they decide alone. `had_other_state`: the
/// BMC has reported another state since. If dayone was restarted while the host was being started, it does not know the earlier report.
fn is_new(progress: &BootProgress, started: Option<&Started>, had_other_state: bool) -> bool {
    let Some(started) = started else { return had_other_state };
    match progress.last_state_time.as_ref().zip(started.os_running_since.as_ref()) {
        Some((now, before)) => now != before,
        None => had_other_state || !started.os_running,
    }
}

/// Whether the BMC reported the host as off before it was started. A record that does not say so, such as one of an older version,
/// is no reason to take an answer for that of the new system.
fn was_off(record: &BootRecord) -> bool {
    record.at_bmc.as_ref().and_then(|at_bmc| at_bmc.started.as_ref()).is_some_and(|started| started.was_off)
}

/// Describes the host's call, with the meaning of its address.
fn describe_call(record: &BootRecord, call: &Call) -> String {
    let Some(peer) = call.peer.map(|peer| peer.ip().to_canonical()) else { return "the host called home".to_owned() };
    let verdict = if record.addresses.is_empty() {
        String::new()
    } else if record.addresses.contains(&peer) {
        ", one of its static addresses".to_owned()
    } else {
        let own: Vec<String> = record.addresses.iter().map(ToString::to_string).collect();
        format!(
            ", which is none of its static addresses ({}): something on the way translates addresses, or its network differs \
             from its documents",
            own.join(", ")
        )
    };
    format!("the host called home from {peer}{verdict}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_runs_since_before_the_start_is_not_new() {
        let progress = |time: Option<&str>| BootProgress {
            last_state: "OSRunning".to_owned(),
            oem_last_state: None,
            last_state_time: time.map(str::to_owned),
        };
        let (old, new) = (Some("2026-11-01T00:00:00Z"), Some("2026-11-02T00:00:00Z"));
        for (now, os_running, since, had_other_state, expected) in [
            (old, true, old, false, false),
            // Not reported while the host was off, or for a while after its start.
            (old, false, old, false, false),
            (old, true, old, true, false),
            (new, true, old, false, true),
            (new, false, old, false, true),
            (None, true, old, false, false),
            (None, true, old, true, true),
            (new, true, None, true, true),
            (None, false, None, false, true),
        ] {
            let started = Started { was_off: true, os_running, os_running_since: since.map(str::to_owned) };
            let is_new = is_new(&progress(now), Some(&started), had_other_state);
            assert_eq!(is_new, expected, "{now:?} {started:?} {had_other_state}");
        }
        assert!(!is_new(&progress(new), None, false));
    }
}
