//! Which replica writes: the one that holds the Lease.
//!
//! The rules are those of Kubernetes' own controllers (client-go's leader election): a Lease runs out by the clock of
//! who looks at it, so that clocks may differ; each change carries the resourceVersion, so that of two who take it one
//! does; and who cannot renew it stops before others may take it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::problem;

/// For how long others leave a Lease alone.
const DURATION: Duration = Duration::from_secs(15);
/// For how long a Lease that is not renewed is relied upon.
const RELIED_UPON: Duration = Duration::from_secs(10);
const RENEW: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_secs(2);
/// The longest wait between two requests to an API server that does not answer.
const UNREACHABLE: Duration = Duration::from_secs(10);
const REQUEST: Duration = Duration::from_secs(4);
/// An API server that is just starting refuses everybody for a moment.
const REFUSALS: u32 = 3;
/// Without the right to use Leases: somebody may grant it.
const FORBIDDEN: Duration = Duration::from_secs(30);

/// Whether this replica writes.
pub struct Leadership {
    leads: watch::Receiver<bool>,
    election: Option<(CancellationToken, JoinHandle<()>)>,
    /// Who leads without an election does until it stops.
    always: Option<watch::Sender<bool>>,
}

impl Leadership {
    /// Without an election.
    pub fn always() -> Self {
        let (sender, leads) = watch::channel(true);
        Self { leads, election: None, always: Some(sender) }
    }

    /// By the Lease of this name, under the name of this replica, which no other may have.
    pub fn elect(client: Client, namespace: &str, name: &str, identity: &str) -> Self {
        let (sender, leads) = watch::channel(false);
        let stopping = CancellationToken::new();
        let candidate = Candidate {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity: identity.to_owned(),
            leads: sender,
            seen: None,
            relied_upon: None,
            rights: Rights::Unknown,
            refused: None,
            unanswered: 0,
        };
        let task = tokio::spawn(candidate.run(stopping.clone()));
        Self { leads, election: Some((stopping, task)), always: None }
    }

    /// Whether this replica writes, at any time.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.leads.clone()
    }

    /// Stops leading, and gives the Lease back.
    pub async fn stop(&mut self) {
        if let Some(always) = self.always.take() {
            always.send_replace(false);
        }
        if let Some((stopping, task)) = self.election.take() {
            stopping.cancel();
            // It is bounded in time; and what it failed of is in the log.
            let _ = task.await;
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        if let Some((_, task)) = &self.election {
            task.abort();
        }
    }
}

struct Candidate {
    api: Api<Lease>,
    name: String,
    identity: String,
    leads: watch::Sender<bool>,
    /// The Lease, and when it was first seen as it is.
    seen: Option<(Lease, Instant)>,
    /// Until when this replica leads without asking.
    relied_upon: Option<Instant>,
    rights: Rights,
    /// How often in a row the API server refused Leases, and since when.
    refused: Option<(u32, Instant)>,
    /// How often in a row the API server did not answer.
    unanswered: u32,
}

/// Whether this replica may use Leases.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    Unknown,
    Granted,
    /// There is no election: this replica leads, as does every other.
    Missing,
}

/// What came of a request for the Lease.
enum Attempt {
    Held,
    HeldByAnother,
    Forbidden(String),
    /// The API server did not answer, or not to the point.
    Unanswered,
}

impl Candidate {
    async fn run(mut self, stopping: CancellationToken) {
        loop {
            let Some(wait) = stopping.run_until_cancelled(self.turn()).await else { break };
            if stopping.run_until_cancelled(sleep(wait)).await.is_none() {
                break;
            }
        }
        self.lead(false);
        self.give_back().await;
    }

    /// Takes or renews the Lease if possible, and returns how long to wait before the next turn.
    async fn turn(&mut self) -> Duration {
        let started = Instant::now();
        let attempt = self.attempt(started).await;
        if matches!(attempt, Attempt::Held | Attempt::HeldByAnother) {
            if self.rights == Rights::Missing {
                tracing::info!("this replica may use Leases again: replicas elect the one that writes");
            }
            (self.rights, self.refused, self.unanswered) = (Rights::Granted, None, 0);
        }
        match attempt {
            Attempt::Held => {
                self.relied_upon = Some(started + RELIED_UPON);
                self.lead(true);
                RENEW
            }
            Attempt::HeldByAnother => {
                self.relied_upon = None;
                self.lead(false);
                jittered(RETRY)
            }
            Attempt::Forbidden(message) => self.refused(&message, started),
            Attempt::Unanswered => {
                let wait = backoff(self.unanswered);
                self.unanswered = self.unanswered.saturating_add(1);
                self.rely_on_the_lease(jittered(wait))
            }
        }
    }

    async fn attempt(&mut self, started: Instant) -> Attempt {
        let patience = self.relied_upon.map_or(REQUEST, |until| until.saturating_duration_since(started).min(REQUEST));
        match timeout(patience, self.take_or_renew()).await {
            Ok(Ok(true)) => Attempt::Held,
            Ok(Ok(false)) => Attempt::HeldByAnother,
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => Attempt::Forbidden(status.message.clone()),
            Ok(Err(error)) => {
                tracing::debug!("the Lease {}: {}", self.name, problem::describe(&error));
                Attempt::Unanswered
            }
            Err(_) => {
                tracing::debug!("the Lease {}: the API server does not answer", self.name);
                Attempt::Unanswered
            }
        }
    }

    /// Waits for the next turn, but not beyond the Lease that this replica holds. Without one it stops leading, unless
    /// there is no election.
    fn rely_on_the_lease(&mut self, wait: Duration) -> Duration {
        if self.rights == Rights::Missing {
            return wait;
        }
        let left = self.relied_upon.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            self.relied_upon = None;
            self.lead(false);
            return wait;
        }
        wait.min(left)
    }

    /// Roles for a single replica lack the right to Leases, and an administrator may take it away at any time. Every
    /// write carries a resourceVersion, and all replicas write the same: without an election there are more requests and
    /// the same result. A Lease that somebody may still hold runs out first.
    fn refused(&mut self, message: &str, now: Instant) -> Duration {
        self.unanswered = 0;
        let (refusals, since) = self.refused.get_or_insert((0, now));
        *refusals = refusals.saturating_add(1);
        let (refusals, since) = (*refusals, *since);
        let had_the_right = self.rights == Rights::Granted;
        let lease_may_be_held = had_the_right && now.saturating_duration_since(since) < DURATION;
        if self.rights != Rights::Missing && (refusals < REFUSALS || lease_may_be_held) {
            return self.rely_on_the_lease(RETRY);
        }
        if self.rights != Rights::Missing {
            tracing::warn!(
                "{message}; without the right to get, create and update leases in coordination.k8s.io there is no \
                 election: this replica writes, as does every other"
            );
        }
        (self.rights, self.relied_upon, self.seen) = (Rights::Missing, None, None);
        self.lead(true);
        jittered(FORBIDDEN)
    }

    async fn take_or_renew(&mut self) -> kube::Result<bool> {
        let now = Timestamp::now();
        // Who holds the Lease knows it, and renews it in one request.
        let renewed = if self.relied_upon.is_some() { self.seen.take() } else { None };
        let mut lease = match renewed {
            Some((lease, _)) => lease,
            None => match self.api.get_opt(&self.name).await? {
                None => return self.create(now).await,
                Some(lease) => {
                    if !self.is_free(&lease) {
                        return Ok(false);
                    }
                    lease
                }
            },
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&self.identity) {
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
            spec.acquire_time = Some(MicroTime(now));
        }
        self.fill(spec, now);
        let answer = self.api.replace(&self.name, &PostParams::default(), &lease).await;
        self.answered(answer)
    }

    async fn create(&mut self, now: Timestamp) -> kube::Result<bool> {
        let mut spec = LeaseSpec { acquire_time: Some(MicroTime(now)), ..LeaseSpec::default() };
        self.fill(&mut spec, now);
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        let answer = self.api.create(&PostParams::default(), &Lease { metadata, spec: Some(spec) }).await;
        self.answered(answer)
    }

    fn fill(&self, spec: &mut LeaseSpec, now: Timestamp) {
        spec.holder_identity = Some(self.identity.clone());
        spec.lease_duration_seconds = i32::try_from(DURATION.as_secs()).ok();
        spec.renew_time = Some(MicroTime(now));
    }

    fn answered(&mut self, answer: kube::Result<Lease>) -> kube::Result<bool> {
        match answer {
            Ok(lease) => {
                self.seen = Some((lease, Instant::now()));
                Ok(true)
            }
            // Somebody else was first.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the Lease is nobody's, or this replica's, or was not renewed for as long as it lasts while this replica
    /// looked on.
    fn is_free(&mut self, lease: &Lease) -> bool {
        let since = match &self.seen {
            Some((seen, since)) if seen.metadata.resource_version == lease.metadata.resource_version => *since,
            _ => {
                let now = Instant::now();
                self.seen = Some((lease.clone(), now));
                now
            }
        };
        let Some(spec) = &lease.spec else { return true };
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0);
        holder.is_empty() || holder == self.identity || since.elapsed() >= Duration::from_secs(seconds)
    }

    fn lead(&self, leads: bool) {
        let changed = self.leads.send_if_modified(|now| std::mem::replace(now, leads) != leads);
        if changed && leads {
            tracing::info!(identity = self.identity, "this replica writes");
        } else if changed {
            tracing::info!(identity = self.identity, "this replica does not write any more");
        }
    }

    async fn give_back(&mut self) {
        let Some((mut lease, _)) = self.relied_upon.take().and(self.seen.take()) else { return };
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(Timestamp::now()));
        match timeout(REQUEST, self.api.replace(&self.name, &PostParams::default(), &lease)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!("the Lease could not be given back: {}", problem::describe(&error)),
            Err(_) => tracing::warn!("the Lease could not be given back: the API server does not answer"),
        }
    }
}

/// The wait after the first requests without an answer is short: most outages are.
fn backoff(unanswered: u32) -> Duration {
    RETRY.saturating_mul(2_u32.saturating_pow(unanswered)).min(UNREACHABLE)
}

/// Adds up to a fifth, so that replicas do not ask at the same moment.
fn jittered(wait: Duration) -> Duration {
    let mut random = [0_u8];
    // Without randomness the wait is as good.
    let _ = getrandom::fill(&mut random);
    wait + wait.mul_f64(f64::from(u8::from_le_bytes(random)) / 255.0 / 5.0)
}

#[cfg(test)]
mod tests;
