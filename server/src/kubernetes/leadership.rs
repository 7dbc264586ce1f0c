//! Leader election: the replica that holds the Lease writes.
//!
//! The rules are those of Kubernetes' own controllers (client-go's leader election):
//!
//! - A Lease expires by the clock of the replica that looks at it, so clocks may differ.
//! - Each change has the resourceVersion, so only one of two replicas gets the Lease.
//! - A replica that cannot renew the Lease stops writing before others may take it.
//!
//! Unlike those, a replica that cannot make images leaves the Lease to the others. If none of them takes it, somebody must still write the
//! reason into the objects, and let deleted objects go: such a replica then takes the Lease for one renewal at a time.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use self::waits::{RETRY, backoff};
use super::problem;
use super::retries::jittered;

/// For how long other replicas leave a Lease alone that is not renewed.
const DURATION: Duration = Duration::from_secs(15);
/// For how long this replica goes on writing if it cannot renew the Lease.
const RELIED_UPON: Duration = Duration::from_secs(10);
const RENEW: Duration = Duration::from_secs(5);
/// For how long a replica that can make no images leaves the Lease to the others before it tries to take it: longer than a Lease lasts
/// without a renewal.
const LEFT_TO_OTHERS: Duration = Duration::from_secs(30);
/// How long a replica that stops tries to release the Lease.
const RELEASE: Duration = Duration::from_secs(4);
/// An API server that is just starting refuses all requests for a moment.
const REFUSALS: u32 = 3;
/// How long to wait without the right to use Leases, until the next attempt: somebody may grant it.
const FORBIDDEN: Duration = Duration::from_secs(30);

/// Whether this replica writes.
pub struct Leadership {
    leads: watch::Receiver<bool>,
    election: Option<(CancellationToken, JoinHandle<()>)>,
    /// Without an election: set to false when this replica stops leading.
    always: Option<watch::Sender<bool>>,
}

impl Leadership {
    /// Leads without an election.
    pub fn always() -> Self {
        let (sender, leads) = watch::channel(true);
        Self { leads, election: None, always: Some(sender) }
    }

    /// Takes part in the election by the Lease `name`; while `can_make_images` is false, only if no other replica takes it. No
    /// other replica may have the same `identity`.
    pub fn elect(
        client: Client,
        namespace: &str,
        name: &str,
        identity: &str,
        can_make_images: watch::Receiver<bool>,
    ) -> Self {
        let (sender, leads) = watch::channel(false);
        let stopping = CancellationToken::new();
        let candidate = Candidate {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity: identity.to_owned(),
            leads: sender,
            can_make_images,
            seen: None,
            relied_upon: None,
            rights: Rights::Unknown,
            refused: None,
            unanswered: 0,
            trouble: None,
        };
        let task = tokio::spawn(candidate.run(stopping.clone()));
        Self { leads, election: Some((stopping, task)), always: None }
    }

    /// Tells at any time whether this replica writes.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.leads.clone()
    }

    /// Stops leading, and releases the Lease.
    pub async fn stop(&mut self) {
        if let Some(always) = self.always.take() {
            always.send_replace(false);
        }
        if let Some((stopping, task)) = self.election.take() {
            stopping.cancel();
            // The task has a bound on its time, and logs its failures.
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
    can_make_images: watch::Receiver<bool>,
    /// The Lease, and when this replica first saw its present version.
    seen: Option<(Lease, Instant)>,
    /// Until when this replica leads without another request.
    relied_upon: Option<Instant>,
    rights: Rights,
    /// How often in a row the API server refused Leases, and since when.
    refused: Option<(u32, Instant)>,
    /// How often in a row the API server did not answer.
    unanswered: u32,
    /// Why the last requests for the Lease failed, as logged.
    trouble: Option<String>,
}

/// Whether this replica may use Leases.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    Unknown,
    Granted,
    /// There is no election: every replica leads.
    Missing,
}

/// The result of a request for the Lease.
enum Attempt {
    /// This replica holds the Lease. The write was sent at this time.
    Held(Instant),
    HeldByAnother,
    Forbidden(String),
    /// The API server did not answer, or with this unexpected error.
    Unanswered(String),
}

impl Candidate {
    async fn run(mut self, stopping: CancellationToken) {
        while !stopping.is_cancelled() {
            self.take_part(&stopping).await;
        }
        self.withdraw().await;
    }

    async fn take_part(&mut self, stopping: &CancellationToken) {
        if *self.can_make_images.borrow_and_update() {
            return self.take_turn(stopping).await;
        }
        tracing::warn!("this replica can make no images, and leaves the Lease to replicas that can");
        while !*self.can_make_images.borrow_and_update() && !stopping.is_cancelled() {
            self.withdraw().await;
            let change = timeout(LEFT_TO_OTHERS, changed(&mut self.can_make_images));
            if matches!(stopping.run_until_cancelled(change).await, Some(Err(_))) {
                self.take_turn(stopping).await;
            }
        }
    }

    /// Takes one step of the election, and waits until the next one is due. Stopping ends only the wait: if it dropped a request, this
    /// replica would not know whether it holds the Lease that it has to release.
    async fn take_turn(&mut self, stopping: &CancellationToken) {
        let wait = self.step().await;
        let change = timeout(wait, changed(&mut self.can_make_images));
        // The next step is due after a change as well as after the wait.
        let _ = stopping.run_until_cancelled(change).await;
    }

    /// Stops leading, and releases the Lease.
    async fn withdraw(&mut self) {
        self.lead(false);
        self.release().await;
    }

    /// Takes or renews the Lease if possible, and returns how long to wait before the next step.
    async fn step(&mut self) -> Duration {
        let started = Instant::now();
        // A Lease that has ended leaves no time for an answer. From now on, this replica counts as a replica that holds no Lease.
        self.rely_on_the_lease(Duration::ZERO);
        let attempt = self.attempt(started).await;
        if matches!(attempt, Attempt::Held(_) | Attempt::HeldByAnother) {
            if self.trouble.take().is_some() {
                tracing::info!("the API server answers requests for the Lease {} again", self.name);
            }
            if self.rights == Rights::Missing {
                tracing::info!("this replica may use Leases again: replicas elect the one that writes");
            }
            (self.rights, self.refused, self.unanswered) = (Rights::Granted, None, 0);
        }
        match attempt {
            Attempt::Held(sent) => {
                self.relied_upon = Some(sent + RELIED_UPON);
                self.lead(true);
                // Without the time of a slow answer, the next renewal would begin too late to get as slow an answer in time.
                RENEW.saturating_sub(sent.elapsed())
            }
            Attempt::HeldByAnother => {
                self.relied_upon = None;
                self.lead(false);
                jittered(RETRY)
            }
            Attempt::Forbidden(message) => self.refused(&message, started),
            Attempt::Unanswered(reason) => {
                if self.trouble.as_ref() != Some(&reason) {
                    tracing::warn!("cannot take or renew the Lease {}: {reason}; dayone tries again", self.name);
                    self.trouble = Some(reason);
                }
                let wait = backoff(self.unanswered);
                self.unanswered = self.unanswered.saturating_add(1);
                self.rely_on_the_lease(jittered(wait))
            }
        }
    }

    async fn attempt(&mut self, started: Instant) -> Attempt {
        // An API server that takes almost 5 s for each answer is slow, but fast enough for an election.
        let patience = self.relied_upon.map_or(RELIED_UPON, |until| until.saturating_duration_since(started));
        match timeout(patience, self.take_or_renew()).await {
            Ok(Ok(Some(sent))) => Attempt::Held(sent),
            Ok(Ok(None)) => Attempt::HeldByAnother,
            Ok(Err(kube::Error::Api(status))) if problem::lacks_right(&status) => {
                Attempt::Forbidden(status.message.clone())
            }
            Ok(Err(error)) => Attempt::Unanswered(problem::describe(&error)),
            Err(_) => Attempt::Unanswered("the API server does not answer in time".to_owned()),
        }
    }

    /// Shortens the wait to the end of the Lease that this replica holds. Without a Lease, the replica stops leading,
    /// unless there is no election.
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

    /// Without the right to Leases, this replica leads without an election. Roles for a single replica lack that right, and
    /// an administrator may revoke it at any time. Every write has a resourceVersion, and all replicas write the same, so
    /// more requests give the same result. A Lease that another replica may still hold expires first.
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
                 election, and every replica writes"
            );
        }
        (self.rights, self.relied_upon, self.seen) = (Rights::Missing, None, None);
        self.lead(true);
        jittered(FORBIDDEN)
    }

    /// Returns when the write was sent that took or renewed the Lease; `None` if another replica holds it.
    async fn take_or_renew(&mut self) -> kube::Result<Option<Instant>> {
        let now = Timestamp::now();
        // A replica that holds the Lease renews it in one request, without reading it.
        let renewed = if self.relied_upon.is_some() { self.seen.take() } else { None };
        let mut lease = match renewed {
            Some((lease, _)) => lease,
            None => match self.api.get_opt(&self.name).await? {
                None => return self.create(now).await,
                Some(lease) => {
                    if !self.is_free(&lease) {
                        return Ok(None);
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
        let sent = Instant::now();
        let answer = self.api.replace(&self.name, &PostParams::default(), &lease).await;
        self.answered(sent, answer)
    }

    async fn create(&mut self, now: Timestamp) -> kube::Result<Option<Instant>> {
        let mut spec = LeaseSpec { acquire_time: Some(MicroTime(now)), ..LeaseSpec::default() };
        self.fill(&mut spec, now);
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        let sent = Instant::now();
        let answer = self.api.create(&PostParams::default(), &Lease { metadata, spec: Some(spec) }).await;
        self.answered(sent, answer)
    }

    fn fill(&self, spec: &mut LeaseSpec, now: Timestamp) {
        spec.holder_identity = Some(self.identity.clone());
        spec.lease_duration_seconds = i32::try_from(DURATION.as_secs()).ok();
        spec.renew_time = Some(MicroTime(now));
    }

    fn answered(&mut self, sent: Instant, answer: kube::Result<Lease>) -> kube::Result<Option<Instant>> {
        match answer {
            Ok(lease) => {
                self.seen = Some((lease, Instant::now()));
                Ok(Some(sent))
            }
            // Another replica was first.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether this replica may take the Lease: nobody holds it, or this replica does, or nobody has renewed it for its
    /// whole duration since this replica first saw it.
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
            tracing::info!(identity = self.identity, "this replica no longer writes");
        }
    }

    async fn release(&mut self) {
        if self.relied_upon.take().is_none() {
            return;
        }
        match timeout(RELEASE, self.give_back()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("cannot release the Lease: {}", problem::describe(&error)),
            Err(_) => tracing::warn!("cannot release the Lease: the API server does not answer"),
        }
    }

    /// Gives the Lease back. After a renewal without an answer, this replica does not know the Lease's version, and reads it.
    async fn give_back(&mut self) -> kube::Result<()> {
        let lease = match self.seen.take() {
            Some((lease, _)) => Some(lease),
            None => self.api.get_opt(&self.name).await?,
        };
        let Some(mut lease) = lease else { return Ok(()) };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&self.identity) {
            return Ok(());
        }
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(Timestamp::now()));
        self.api.replace(&self.name, &PostParams::default(), &lease).await.map(drop)
    }
}

/// Waits for a change; forever, if the sender is gone and no change can come.
pub(super) async fn changed<T>(receiver: &mut watch::Receiver<T>) {
    if receiver.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests;
mod waits;
