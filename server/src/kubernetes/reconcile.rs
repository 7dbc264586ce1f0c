//! Reconciles one object of any kind: measures the time, and schedules the next attempt.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::runtime::controller::Action;

use super::context::Context;
use super::kind::{Kind, Memory as _};
use super::problem::RequestError;
use super::retries::jittered;

/// dayone reconciles every object again after this time, whatever events have come.
pub(super) const RESYNC: Duration = Duration::from_hours(10);

/// The longest wait that the API server can ask for.
const LONGEST_REQUESTED_WAIT: Duration = Duration::from_mins(5);

/// Why dayone has to reconcile an object again soon.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReconcileError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("cannot make the image: {0}")]
    Build(String),
    #[error("the watch over Secrets has ended")]
    Ended,
}

impl ReconcileError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_conflict())
    }

    /// How long the API server asks to wait, up to the maximum above.
    fn retry_after(&self) -> Duration {
        let Self::Request(error) = self else { return Duration::ZERO };
        error.retry_after().unwrap_or_default().min(LONGEST_REQUESTED_WAIT)
    }
}

/// What a reconciliation did, and when to reconcile the object again if no event comes.
pub(super) struct Reconciled {
    pub(super) result: &'static str,
    pub(super) again: Duration,
}

impl Reconciled {
    pub(super) fn settled() -> Self {
        Self { result: "settled", again: RESYNC }
    }

    pub(super) fn written() -> Self {
        Self { result: "written", again: RESYNC }
    }
}

/// A kind of objects, and how to reconcile one of them.
pub(super) trait Reconcile: Kind {
    /// Does what the object needs. A replica that does not lead writes nothing, and does everything else.
    fn reconcile(
        object: &Arc<Self>,
        owner: &str,
        context: &Context<Self>,
    ) -> impl Future<Output = Result<Reconciled, ReconcileError>> + Send;
}

/// Reconciles an object.
pub(super) async fn run<K: Reconcile>(object: Arc<K>, context: Arc<Context<K>>) -> Result<Action, ReconcileError> {
    let started = Instant::now();
    let owner = object.owner();
    // Once images can be made, all objects are queued again. Until then, this object's URL may not answer.
    let can_make_images = context.images.can_make_images();
    let outcome = K::reconcile(&object, &owner, &context).await;
    if can_make_images && !context.memory.is_waiting(&owner) {
        context.readiness.seen(&owner);
    }
    let result = match &outcome {
        Ok(reconciled) => reconciled.result,
        Err(error) if error.is_conflict() => "conflict",
        Err(_) => "error",
    };
    context.metrics.reconciled(result, started.elapsed().as_secs_f64());
    context.metrics.contested(context.contention.contested(Instant::now()));
    let reconciled = outcome?;
    context.retries.forget(&owner);
    Ok(Action::requeue(reconciled.again))
}

/// Builds an image on a thread that may block.
pub(super) async fn build<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ReconcileError> {
    let built = tokio::task::spawn_blocking(work).await;
    built.map_err(|_| ReconcileError::Build("dayone failed; its log has a panic".to_owned()))
}

/// Schedules the next attempt after an error.
#[expect(clippy::needless_pass_by_value, reason = "the signature is given")]
pub(super) fn after_error<K: Kind>(object: Arc<K>, error: &ReconcileError, context: Arc<Context<K>>) -> Action {
    // Without the jitter, dayone would retry all objects that a policy refuses at the same moment each time.
    let wait = jittered(context.retries.failed(&object.owner()).max(error.retry_after()));
    let seconds = wait.as_secs_f64();
    let (kind, namespace, name) = (K::kind(&()), object.namespace(), object.name());
    if error.is_conflict() {
        tracing::debug!(%kind, namespace, name, seconds, "somebody else changed the object; dayone tries again after this time");
    } else {
        tracing::warn!(%kind, namespace, name, seconds, "{error}; dayone tries again after this time");
    }
    Action::requeue(wait)
}
