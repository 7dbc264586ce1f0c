//! One look at one object: what [`super::decide`] says, done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::claim::{self, Found};
use super::decide::{self, Asked, Failure, Outcome, Told, Wanted};
use super::kind::Kind as _;
use super::look::{Done, Look, RESYNC, ReconcileError};
use super::problem::request;
use super::provider::{BuildError, ImageRequest};
use super::resources::{PreprovisioningImage, PreprovisioningImageStatus};
use super::rivals::Verdict;

type Context = super::context::Context<PreprovisioningImage>;

impl Look for PreprovisioningImage {
    async fn look(object: &Arc<Self>, owner: &str, context: &Context) -> Result<Done, ReconcileError> {
        look(object, owner, context).await
    }
}

/// Looks at a PreprovisioningImage.
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
        Err(failure) => Outcome::Failed(failure, None),
    };
    if !matches!(outcome, Outcome::NotReady(..)) {
        context.memory.is_over(owner);
    }
    // Between the order and here the object may have gone, and what belonged to it with it.
    if context.is_gone(object) {
        context.images.discard(owner);
        return Ok(Done::settled());
    }
    if object.is_deleting() {
        return Ok(Done::settled());
    }
    let conclusion = decide::conclude(object, &outcome, Timestamp::now());
    let again = match outcome {
        // Who leads asks again for a Secret, and labels it, which tells the others.
        Outcome::Failed(..) if !context.leads() => RESYNC,
        _ => conclusion.again.unwrap_or(RESYNC),
    };
    if conclusion.status.is_some()
        && context.may_write(object, owner)
        && let Some(again) = stand_back(object, owner, &outcome, context).await
    {
        return Ok(Done { again, ..Done::settled() });
    }
    match conclusion.status {
        Some(status) if context.may_write(object, owner) => {
            write_status(object, owner, &status, &outcome, context).await?;
            Ok(Done { again, ..Done::written() })
        }
        Some(_) if !context.leads() => Ok(Done { result: "followed", again }),
        _ => Ok(Done { again, ..Done::settled() }),
    }
}

/// For how long to leave the object to another controller, which replaces what this one writes.
async fn stand_back(
    object: &PreprovisioningImage,
    owner: &str,
    outcome: &Outcome,
    context: &Context,
) -> Option<Duration> {
    let Outcome::Published(image, made_of) = outcome else { return None };
    let theirs = &object.status.image_url;
    if theirs.is_empty() || *theirs == image.url || !made_of.is_in(&object.status) {
        return None;
    }
    let now = Instant::now();
    let verdict = context.rivals.replaced(owner, &image.url, now);
    context.metrics.contested(context.rivals.contested(now));
    let Verdict::StandBack { first, again } = verdict else { return None };
    if first {
        let note = "another controller replaces this image's URL each time that dayone writes it, so dayone leaves the \
                    object alone for 10 minutes. Fix: run one controller for a namespace, or give all of them the same key \
                    (--key-secret), Lease (--lease) and --images-publish-addr";
        let told = Told { warning: true, reason: "AnotherController", note: note.to_owned(), place: None };
        context.events.tell(object, &[told]).await;
    }
    Some(again)
}

async fn make(
    object: &Arc<PreprovisioningImage>,
    owner: &str,
    wanted: Wanted,
    context: &Context,
) -> Result<Outcome, ReconcileError> {
    let secret = match &wanted.secret {
        None => None,
        Some(name) => match claim::secret(object, name, context).await? {
            Found::Secret(secret) => Some(secret),
            Found::Missing => return Ok(Outcome::Failed(Failure::missing_secret(), None)),
            Found::Refused(error, secret) => {
                let made_of = secret.map(|secret| decide::made_of(&wanted, Some(&secret)));
                return Ok(Outcome::Failed(Failure::forbidden(&error.to_string()), made_of));
            }
        },
    };
    let made_of = decide::made_of(&wanted, secret.as_deref());
    let kernel_arguments = match (wanted.kernel_arguments, decide::network_data(secret.as_deref())) {
        (Ok(kernel_arguments), Ok(_)) => kernel_arguments,
        (Err(failure), _) | (_, Err(failure)) => return Ok(Outcome::Failed(failure, Some(made_of))),
    };
    let (object, holder, images) = (Arc::clone(object), owner.to_owned(), Arc::clone(&context.images));
    let build = move || {
        images.publish(&ImageRequest {
            owner: &holder,
            host: object.name(),
            format: wanted.format,
            architecture: &wanted.architecture,
            stream: wanted.stream.as_deref(),
            network: decide::network_data(secret.as_deref()).ok().flatten(),
            kernel_arguments: &kernel_arguments,
        })
    };
    match tokio::task::spawn_blocking(build).await {
        Ok(Ok(image)) => Ok(Outcome::Published(image, made_of)),
        Ok(Err(BuildError::Invalid { message, .. })) => Ok(Outcome::Failed(Failure::invalid(&message), Some(made_of))),
        Ok(Err(BuildError::NotReady(message))) => {
            Ok(Outcome::NotReady(message, made_of, context.memory.for_how_long(owner, Instant::now())))
        }
        Ok(Err(BuildError::Kept(message))) => Ok(Outcome::NotReady(message, made_of, Duration::ZERO)),
        Ok(Err(BuildError::Other(message))) => Err(ReconcileError::Build(message)),
        Err(_) => Err(ReconcileError::Build("dayone failed; its log has a panic".to_owned())),
    }
}

/// Writes the finalizers that the object should have; says whether it did.
async fn write_finalizers(
    object: &PreprovisioningImage,
    owner: &str,
    context: &Context,
) -> Result<bool, ReconcileError> {
    let Some(finalizers) = decide::finalizers(object) else { return Ok(false) };
    if !context.may_write(object, owner) {
        return Ok(false);
    }
    let patch = Patch::Merge(json!({ "metadata": { "resourceVersion": object.version(), "finalizers": finalizers } }));
    let doing = || "change the finalizers".to_owned();
    let api = context.api(object);
    let parameters = PatchParams::default();
    let write = api.patch(object.name(), &parameters, &patch);
    Ok(context.wrote(request(doing, write).await, object, owner)?)
}

async fn write_status(
    object: &PreprovisioningImage,
    owner: &str,
    status: &PreprovisioningImageStatus,
    outcome: &Outcome,
    context: &Context,
) -> Result<(), ReconcileError> {
    let patch: Patch<Value> = Patch::Merge(decide::patch(object.version(), status));
    let api = context.api(object);
    let parameters = PatchParams::default();
    let write = api.patch_status(object.name(), &parameters, &patch);
    if !context.wrote(request(|| "write the status".to_owned(), write).await, object, owner)? {
        return Ok(());
    }
    let report = match outcome {
        Outcome::Published(image, _) => {
            context.rivals.wrote(owner, &status.image_url);
            Some(&image.report)
        }
        _ => None,
    };
    let told = decide::told(&object.status, status, report.unwrap_or(&vocabulary::report::Report::new()));
    if let Outcome::Failed(failure, _) = outcome {
        context.metrics.failed(failure.reason);
    }
    context.events.tell(object, &told).await;
    Ok(())
}
