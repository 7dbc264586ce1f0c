//! One look at one object of whatever kind: counted, and taken again when it fails.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::runtime::controller::Action;

use super::context::Context;
use super::kind::{Kind, Memory as _};
use super::problem::RequestError;

/// Every object is looked at again after this time, whatever events have come.
pub(super) const RESYNC: Duration = Duration::from_hours(10);

/// Why an object has to be looked at again soon.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReconcileError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("the image cannot be made: {0}")]
    Build(String),
    #[error("the Secrets are not known")]
    Ended,
}

impl ReconcileError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_conflict())
    }
}

/// What was done, and when to look again where nothing happens.
pub(super) struct Done {
    pub(super) result: &'static str,
    pub(super) again: Duration,
}

impl Done {
    pub(super) fn settled() -> Self {
        Self { result: "settled", again: RESYNC }
    }

    pub(super) fn written() -> Self {
        Self { result: "written", again: RESYNC }
    }
}

/// A kind whose objects are looked at.
pub(super) trait Look: Kind {
    /// Looks at the object, and does what it needs.
    fn look(
        object: &Arc<Self>,
        owner: &str,
        context: &Context<Self>,
    ) -> impl Future<Output = Result<Done, ReconcileError>> + Send;
}

/// Looks at an object. Replicas that do not lead do all but write.
pub(super) async fn reconcile<K: Look>(object: Arc<K>, context: Arc<Context<K>>) -> Result<Action, ReconcileError> {
    let started = Instant::now();
    let owner = object.owner();
    let outcome = K::look(&object, &owner, &context).await;
    if !context.memory.is_waiting(&owner) {
        context.readiness.seen(&owner);
    }
    let result = match &outcome {
        Ok(done) => done.result,
        Err(error) if error.is_conflict() => "conflict",
        Err(_) => "error",
    };
    context.metrics.reconciled(result, started.elapsed().as_secs_f64());
    let done = outcome?;
    context.retries.forget(&owner);
    Ok(Action::requeue(done.again))
}

/// When to look at an object again that could not be looked at.
#[expect(clippy::needless_pass_by_value, reason = "the signature is given")]
pub(super) fn after_error<K: Kind>(object: Arc<K>, error: &ReconcileError, context: Arc<Context<K>>) -> Action {
    let wait = context.retries.failed(&object.owner());
    let seconds = wait.as_secs_f64();
    let (kind, namespace, name) = (K::kind(&()), object.namespace(), object.name());
    if error.is_conflict() {
        tracing::debug!(%kind, namespace, name, seconds, "changed by somebody else meanwhile; looked at again after these seconds");
    } else {
        tracing::warn!(%kind, namespace, name, seconds, "{error}; tried again after these seconds");
    }
    Action::requeue(wait)
}
