//! One look at one object: what [`super::decide`] says, done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::decide::{self, Asked, Failure, Outcome, Wanted};
use super::events::Announcer;
use super::metrics::KubernetesMetrics;
use super::problem::{RequestError, request};
use super::provider::{BuildError, ImageProvider, ImageRequest, NetworkData};
use super::readiness::Readiness;
use super::resources::{PreprovisioningImage, PreprovisioningImageStatus};
use super::retries::Retries;

/// Every object is looked at again after this time, whatever events have come.
const RESYNC: Duration = Duration::from_hours(10);

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

/// All that looking at objects needs.
pub(super) struct Context {
    pub(super) client: Client,
    pub(super) images: Arc<dyn ImageProvider>,
    pub(super) objects: Store<PreprovisioningImage>,
    pub(super) secrets: Store<Secret>,
    pub(super) leads: watch::Receiver<bool>,
    pub(super) events: Announcer,
    pub(super) metrics: KubernetesMetrics,
    pub(super) readiness: Readiness,
    pub(super) retries: Retries,
    pub(super) written: Written,
}

/// The resourceVersions upon which something was written: an object that still has one is older than what was written.
#[derive(Debug, Default)]
pub(super) struct Written(Mutex<HashMap<String, String>>);

impl Written {
    fn note(&self, owner: &str, upon: &str, answer: &PreprovisioningImage) {
        // A patch that changed nothing brings no event.
        if answer.metadata.resource_version.as_deref() != Some(upon) {
            self.lock().insert(owner.to_owned(), upon.to_owned());
        }
    }

    fn is_older(&self, owner: &str, version: &str) -> bool {
        let mut all = self.lock();
        let older = all.get(owner).is_some_and(|upon| upon == version);
        if !older {
            all.remove(owner);
        }
        older
    }

    pub(super) fn forget(&self, owner: &str) {
        self.lock().remove(owner);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was done, and when to look again where nothing happens.
struct Done {
    result: &'static str,
    again: Duration,
}

impl Done {
    fn settled() -> Self {
        Self { result: "settled", again: RESYNC }
    }

    fn written() -> Self {
        Self { result: "written", again: RESYNC }
    }
}

/// Looks at an object. Replicas that do not lead do all but write.
pub(super) async fn reconcile(
    object: Arc<PreprovisioningImage>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let started = Instant::now();
    let owner = object.owner();
    let outcome = look(&object, &owner, &context).await;
    context.readiness.seen(&owner);
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
pub(super) fn after_error(object: Arc<PreprovisioningImage>, error: &ReconcileError, context: Arc<Context>) -> Action {
    let wait = context.retries.failed(&object.owner());
    let (namespace, name) = (object.namespace(), object.name());
    if error.is_conflict() {
        tracing::debug!(namespace, name, ?wait, "changed by somebody else meanwhile; looked at again");
    } else {
        tracing::warn!(namespace, name, ?wait, "{error}; tried again");
    }
    Action::requeue(wait)
}

async fn look(object: &Arc<PreprovisioningImage>, owner: &str, context: &Context) -> Result<Done, ReconcileError> {
    context.secrets.wait_until_ready().await.map_err(|_| ReconcileError::Ended)?;
    let wanted = match decide::asked(object, |architecture| context.images.supports(architecture)) {
        Asked::Gone => {
            context.images.discard(owner);
            return write_finalizers(object, owner, context).await.map(|_| Done::settled());
        }
        Asked::Image(wanted) => Ok(wanted),
        Asked::Refused(failure) => Err(failure),
    };
    if write_finalizers(object, owner, context).await? {
        return Ok(Done::written());
    }
    let outcome = match wanted {
        Ok(wanted) => make(object, owner, wanted, context).await?,
        Err(failure) => Outcome::Failed(failure),
    };
    // Between the order and here the object may have gone, and what belonged to it with it.
    if context.objects.get(&ObjectRef::from_obj(object)).is_none_or(|now| now.metadata.uid != object.metadata.uid) {
        context.images.discard(owner);
        return Ok(Done::settled());
    }
    if object.is_deleting() {
        return Ok(Done::settled());
    }
    let conclusion = decide::conclude(object, &outcome, Timestamp::now());
    let again = match outcome {
        // Who leads asks again for a Secret, and labels it, which tells the others.
        Outcome::Failed(_) if !leads(context) => RESYNC,
        _ => conclusion.again.unwrap_or(RESYNC),
    };
    match conclusion.status {
        Some(status) if may_write(object, owner, context) => {
            write_status(object, owner, &status, &outcome, context).await?;
            Ok(Done { again, ..Done::written() })
        }
        Some(_) if !leads(context) => Ok(Done { result: "followed", again }),
        _ => Ok(Done { again, ..Done::settled() }),
    }
}

fn leads(context: &Context) -> bool {
    *context.leads.borrow()
}

/// Whether to write upon what is known of the object. After a write, its event comes.
fn may_write(object: &PreprovisioningImage, owner: &str, context: &Context) -> bool {
    leads(context) && !context.written.is_older(owner, version(object))
}

fn version(object: &PreprovisioningImage) -> &str {
    object.metadata.resource_version.as_deref().unwrap_or_default()
}

async fn make(
    object: &Arc<PreprovisioningImage>,
    owner: &str,
    wanted: Wanted,
    context: &Context,
) -> Result<Outcome, ReconcileError> {
    let secret = match &wanted.secret {
        None => None,
        Some(name) => match secret(object, name, context).await? {
            None => return Ok(Outcome::Failed(Failure::missing_secret())),
            found => found,
        },
    };
    if let Err(failure) = decide::network_data(secret.as_deref()) {
        return Ok(Outcome::Failed(failure));
    }
    let made_of = decide::made_of(&wanted, secret.as_deref());
    let (object, owner, images) = (Arc::clone(object), owner.to_owned(), Arc::clone(&context.images));
    let build = move || {
        let path = wanted.secret.as_deref().map(decide::data_path).unwrap_or_default();
        let network = decide::network_data(secret.as_deref()).ok().flatten();
        images.publish(&ImageRequest {
            owner: &owner,
            host: object.name(),
            format: wanted.format,
            architecture: &wanted.architecture,
            stream: wanted.stream.as_deref(),
            network: network.map(|bytes| NetworkData { bytes, path }),
            kernel_arguments: &wanted.kernel_arguments,
        })
    };
    match tokio::task::spawn_blocking(build).await {
        Ok(Ok(image)) => Ok(Outcome::Published(image, made_of)),
        Ok(Err(BuildError::Invalid { message, .. })) => Ok(Outcome::Failed(Failure::invalid(&message))),
        Ok(Err(BuildError::NotReady(message))) => Ok(Outcome::NotReady(message, made_of)),
        Ok(Err(BuildError::Other(message))) => Err(ReconcileError::Build(message)),
        Err(_) => Err(ReconcileError::Build("dayone failed; its log has a panic".to_owned())),
    }
}

/// The Secret, as the API server has it where that matters: who leads makes it the object's, and then it is watched.
async fn secret(
    object: &PreprovisioningImage,
    name: &str,
    context: &Context,
) -> Result<Option<Arc<Secret>>, ReconcileError> {
    if !decide::is_object_name(name) {
        return Ok(None);
    }
    let owner = object.owner_reference();
    let cached = context.secrets.get(&ObjectRef::new(name).within(object.namespace()));
    let claims = leads(context) && !object.is_deleting();
    if let Some(secret) = cached.filter(|secret| !claims || decide::is_claimed(secret, &owner)) {
        return Ok(Some(secret));
    }
    let api: Api<Secret> = Api::namespaced(context.client.clone(), object.namespace());
    let Some(mut secret) = request(|| format!("read the Secret {name}"), api.get_opt(name)).await? else {
        return Ok(None);
    };
    if claims && leads(context) && !decide::is_claimed(&secret, &owner) {
        decide::claim(&mut secret, &owner);
        let parameters = PostParams::default();
        let replace = api.replace(name, &parameters, &secret);
        match request(|| format!("label the Secret {name}, and make it {}'s", object.name()), replace).await {
            Ok(changed) => secret = changed,
            Err(error) if error.is_gone() => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(Arc::new(secret)))
}

/// Writes the finalizers that the object should have; says whether it did.
async fn write_finalizers(
    object: &PreprovisioningImage,
    owner: &str,
    context: &Context,
) -> Result<bool, ReconcileError> {
    let Some(finalizers) = decide::finalizers(object) else { return Ok(false) };
    if !may_write(object, owner, context) {
        return Ok(false);
    }
    let patch = Patch::Merge(json!({ "metadata": { "resourceVersion": version(object), "finalizers": finalizers } }));
    let doing = || "change the finalizers".to_owned();
    let api = objects(object, context);
    let parameters = PatchParams::default();
    let write = api.patch(object.name(), &parameters, &patch);
    written(request(doing, write).await, object, owner, context)
}

async fn write_status(
    object: &PreprovisioningImage,
    owner: &str,
    status: &PreprovisioningImageStatus,
    outcome: &Outcome,
    context: &Context,
) -> Result<(), ReconcileError> {
    let patch: Patch<Value> = Patch::Merge(decide::patch(version(object), status));
    let api = objects(object, context);
    let parameters = PatchParams::default();
    let write = api.patch_status(object.name(), &parameters, &patch);
    if !written(request(|| "write the status".to_owned(), write).await, object, owner, context)? {
        return Ok(());
    }
    let report = match outcome {
        Outcome::Published(image, _) => Some(&image.report),
        _ => None,
    };
    let told = decide::told(&object.status, status, report.unwrap_or(&imagelib::report::Report::new()));
    let (namespace, name) = (object.namespace(), object.name());
    for told in &told {
        if told.warning {
            tracing::warn!(namespace, name, reason = told.reason, "{}", told.note);
        } else {
            tracing::info!(namespace, name, reason = told.reason, "{}", told.note);
        }
    }
    if let Outcome::Failed(failure) = outcome {
        context.metrics.failed(failure.reason);
    }
    context.events.tell(object, &told).await;
    Ok(())
}

/// Notes what a write came to. That the object is gone is as good.
fn written(
    answer: Result<PreprovisioningImage, RequestError>,
    object: &PreprovisioningImage,
    owner: &str,
    context: &Context,
) -> Result<bool, ReconcileError> {
    match answer {
        Ok(answer) => {
            context.written.note(owner, version(object), &answer);
            Ok(true)
        }
        Err(error) if error.is_gone() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn objects(object: &PreprovisioningImage, context: &Context) -> Api<PreprovisioningImage> {
    Api::namespaced(context.client.clone(), object.namespace())
}
