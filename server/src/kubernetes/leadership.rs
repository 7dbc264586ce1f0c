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
const REQUEST: Duration = Duration::from_secs(4);
/// An API server that is just starting refuses everybody for a moment.
const REFUSALS: u32 = 3;
/// Without the right to use Leases: it may be given.
const FORBIDDEN: Duration = Duration::from_mins(1);

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
            permitted: None,
            refusals: 0,
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
    /// Whether Leases may be used, where that is known.
    permitted: Option<bool>,
    /// How often in a row Leases were refused.
    refusals: u32,
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

    /// Takes or renews the Lease where that can be; says when to do so again.
    async fn turn(&mut self) -> Duration {
        let started = Instant::now();
        let patience = self.relied_upon.map_or(REQUEST, |until| until.saturating_duration_since(started).min(REQUEST));
        let (held, wait) = match timeout(patience, self.take_or_renew()).await {
            Ok(Ok(true)) => (Some(true), RENEW),
            Ok(Ok(false)) => (Some(false), RETRY),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 && self.permitted != Some(true) => {
                self.refusals = self.refusals.saturating_add(1);
                if self.refusals < REFUSALS {
                    return RETRY;
                }
                self.forbidden(&status.message);
                return FORBIDDEN;
            }
            Ok(Err(error)) => {
                tracing::debug!("the Lease {}: {}", self.name, problem::describe(&error));
                (None, RETRY)
            }
            Err(_) => {
                tracing::debug!("the Lease {}: the API server does not answer", self.name);
                (None, RETRY)
            }
        };
        self.refusals = 0;
        if held.is_some() {
            self.permitted = Some(true);
        }
        match held {
            Some(true) => {
                self.relied_upon = Some(started + RELIED_UPON);
                self.lead(true);
                wait
            }
            Some(false) => {
                self.relied_upon = None;
                self.lead(false);
                wait
            }
            None => {
                let left =
                    self.relied_upon.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
                // Of those who have no right to a Lease, all write.
                if left.is_zero() && self.permitted != Some(false) {
                    self.relied_upon = None;
                    self.lead(false);
                    wait
                } else {
                    wait.min(left.max(Duration::from_millis(100)))
                }
            }
        }
    }

    /// Roles for a single replica do not have this right. Every write carries a resourceVersion, and all replicas write
    /// the same: without an election there are more requests and the same result.
    fn forbidden(&mut self, message: &str) {
        if self.permitted.is_none() {
            tracing::warn!(
                "{message}; without this right (get, create and update of leases in coordination.k8s.io) there is no \
                 election: this replica writes, as does every other"
            );
        }
        self.permitted = Some(false);
        self.lead(true);
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
