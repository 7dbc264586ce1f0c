//! Reconciles one object of any kind: measures the time, and schedules the next attempt.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::runtime::controller::Action;

use super::context::{Context, FIRST_WRITE};
use super::decide::{ObjectEvent, reason};
use super::kind::{Kind, Memory as _};
use super::problem::RequestError;
use super::retries::{Failures, jittered};

/// dayone reconciles every object again after this time, whatever events have come.
pub(super) const RESYNC: Duration = Duration::from_hours(10);

/// How long to wait if no worker is free for an object whose last attempt failed slowly.
const NO_WORKER: Duration = Duration::from_secs(1);

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

    /// Writes into the object why its reconciliation keeps failing, if there is a place for that.
    fn explain(
        _object: &Arc<Self>,
        _owner: &str,
        _message: &str,
        _context: &Context<Self>,
    ) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Reconciles an object.
pub(super) async fn run<K: Reconcile>(object: Arc<K>, context: Arc<Context<K>>) -> Result<Action, ReconcileError> {
    let started = Instant::now();
    let owner = object.owner();
    // Many objects that hold up their workers would leave none for a new object.
    let slow_worker = context.retries.is_slow(&owner).then(|| context.retries.slow_worker());
    if matches!(slow_worker, Some(None)) {
        return Ok(Action::requeue(jittered(NO_WORKER)));
    }
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
    match outcome {
        Ok(reconciled) => {
            context.retries.forget(&owner);
            context.failing.stuck(&owner, false);
            Ok(Action::requeue(reconciled.again))
        }
        Err(error) => {
            // Somebody else changed the object: the next attempt need not be slow.
            let took = if error.is_conflict() { Duration::ZERO } else { started.elapsed() };
            let failures = context.retries.failed(&owner, took);
            if failures.are_persistent() && context.leads() {
                report_stuck(&object, &owner, &error.to_string(), failures, &context).await;
            }
            Err(error)
        }
    }
}

/// Reports that the reconciliation of an object keeps failing.
async fn report_stuck<K: Reconcile>(
    object: &Arc<K>,
    owner: &str,
    message: &str,
    failures: Failures,
    context: &Context<K>,
) {
    if context.failing.stuck(owner, true) {
        context.metrics.failed(reason::RECONCILIATION);
        // No condition has to have the message.
        let event = ObjectEvent::warning(reason::RECONCILIATION, message);
        context.events.separate().publish(&**object, &[event]);
    }
    if failures.are_news() {
        // The first attempt has no permission to hold up its worker for longer.
        let _ = tokio::time::timeout(FIRST_WRITE, K::explain(object, owner, message, context)).await;
    }
}

/// Builds an image on a thread that may block.
pub(super) async fn build<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ReconcileError> {
    let built = tokio::task::spawn_blocking(work).await;
    built.map_err(|_| ReconcileError::Build("dayone failed; its log has a panic".to_owned()))
}

/// Schedules the next attempt after an error.
#[expect(clippy::needless_pass_by_value, reason = "the signature is given")]
pub(super) fn after_error<K: Kind>(object: Arc<K>, error: &ReconcileError, context: Arc<Context<K>>) -> Action {
    let owner = object.owner();
    // Without the jitter, dayone would retry all objects that a policy refuses at the same moment each time.
    let wait = jittered(context.retries.wait(&owner).max(error.retry_after()));
    // The object may have been deleted, and so forgotten, during the attempt.
    if context.is_gone(&object) {
        context.forget(&object, &owner);
    }
    let seconds = wait.as_secs_f64();
    let (kind, namespace, name) = (K::kind(&()), object.namespace(), object.name());
    if error.is_conflict() {
        tracing::debug!(%kind, namespace, name, seconds, "somebody else changed the object; dayone tries again after this time");
    } else {
        tracing::warn!(%kind, namespace, name, seconds, "{error}; dayone tries again after this time");
    }
    Action::requeue(wait)
}
