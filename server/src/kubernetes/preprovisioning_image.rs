//! Reconciles one PreprovisioningImage: does what [`super::decide`] decides.

use std::sync::Arc;
use std::time::{Duration, Instant};

use imagelib::digest::Digest;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use super::claim::{self, Lookup};
use super::decide::{self, Desired, DesiredImage, Failure, ImageInputs, Obstacle, Outcome};
use super::kind::Kind as _;
use super::reconcile::{RESYNC, Reconcile, ReconcileError, Reconciled, build};
use super::resources::{Condition, PreprovisioningImage, PreprovisioningImageStatus};
use super::unready::{PATIENCE, Trouble};
use crate::host_images::{BuildError, ImageRequest};

type Context = super::context::Context<PreprovisioningImage>;

impl Reconcile for PreprovisioningImage {
    async fn reconcile(object: &Arc<Self>, owner: &str, context: &Context) -> Result<Reconciled, ReconcileError> {
        context.secrets.wait_until_ready().await.map_err(|_| ReconcileError::Ended)?;
        let desired = match decide::desired(object, |architecture| context.images.supports(architecture)) {
            Desired::Deleted => {
                context.discard(object, owner);
                context.failing.note(owner, None);
                write_finalizers(object, owner, context).await?;
                return Ok(Reconciled::settled());
            }
            Desired::Image(image) => Ok(image),
            Desired::Impossible(obstacle) => Err(obstacle),
        };
        let finalizers = write_finalizers(object, owner, context).await?;
        if finalizers == Finalizers::Written {
            return Ok(Reconciled::written());
        }
        let outcome = match desired {
            Ok(image) => publish(object, owner, image, context).await?,
            Err(Obstacle::Invalid(failure)) => failed(owner, failure, None, context),
            Err(Obstacle::NoBase(failure)) => without_base(object, owner, failure, None, context),
            Err(Obstacle::Unknown(reason)) => not_ready(owner, reason, None, context),
        };
        if let Outcome::Published(image, _) = &outcome {
            context.memory.published(owner, &image.url);
        }
        // If the object was deleted meanwhile, so was its image: do not bring the image back.
        if context.is_gone(object) {
            context.forget(object, owner);
            return Ok(Reconciled::settled());
        }
        if object.is_deleting() {
            let lost =
                decide::lost(object, &outcome).filter(|_| !context.memory.serves(owner, &object.status.image_url));
            context.failing.note(owner, lost.as_ref().map(|lost| lost.reason));
            let leads = context.leads();
            let is_news = context.memory.is_news(owner, lost.as_ref(), leads);
            let Some(lost) = lost else { return Ok(Reconciled::settled()) };
            if is_news {
                context.report_lost(object, &lost, leads);
            }
            let again = decide::conclude(object, &outcome, Timestamp::now()).again;
            return Ok(Reconciled { again: again.unwrap_or(RESYNC), ..Reconciled::settled() });
        }
        context.failing.note(owner, outcome.failure().map(|failure| failure.reason));
        let conclusion = decide::conclude(object, &outcome, Timestamp::now());
        // The lease holder reads a Secret again that is missing or has no label. It labels the Secret, or writes the status if the Secret has
        // changed. Either is an event for the other replicas.
        let again = match outcome {
            Outcome::Failed(..) if !context.leads() => RESYNC,
            _ => conclusion.again.unwrap_or(RESYNC),
        };
        let read_again = context.memory.read_again(owner, Instant::now()).filter(|_| context.leads());
        let again = again.min(read_again.unwrap_or(RESYNC));
        match conclusion.status {
            // A replica that began to lead in the meantime adds its finalizer first, and is called again for that.
            Some(status) if finalizers == Finalizers::Present && context.may_write(object, owner) => {
                let (goal, present) = (decide::goal(&outcome), decide::content(&object.status));
                if let Some(left_alone) = context.stand_back(object, owner, goal, present) {
                    return Ok(Reconciled { again: again.min(left_alone), ..Reconciled::settled() });
                }
                write_status(object, owner, &status, (&outcome, goal), context).await?;
                if let Outcome::Published(image, _) = &outcome
                    && status.image_url == image.url
                    && object.status.image_url != image.url
                {
                    context.record_order(object, image);
                }
                Ok(Reconciled { again, ..Reconciled::written() })
            }
            Some(_) if !context.leads() => Ok(Reconciled { result: "followed", again }),
            _ => Ok(Reconciled { again, ..Reconciled::settled() }),
        }
    }

    /// A failed request says nothing about an image in the status, which a host may boot from, nor about an error there.
    async fn explain(object: &Arc<Self>, owner: &str, message: &str, context: &Context) {
        let has_error = object.status.condition(decide::ERROR).is_some_and(Condition::is_true);
        if object.is_deleting() || has_error || !object.status.image_url.is_empty() || !context.may_write(object, owner)
        {
            return;
        }
        let outcome = Outcome::NotReady(message.to_owned(), None, Duration::ZERO);
        let Some(status) = decide::conclude(object, &outcome, Timestamp::now()).status else { return };
        let goal = decide::goal(&outcome);
        if let Err(error) = write_status(object, owner, &status, (&outcome, goal), context).await {
            tracing::debug!("{error}");
        }
    }
}

async fn publish(
    object: &Arc<PreprovisioningImage>,
    owner: &str,
    image: DesiredImage,
    context: &Context,
) -> Result<Outcome, ReconcileError> {
    let secret = match &image.secret {
        None => None,
        Some(name) => match claim::secret(object, owner, name, context).await? {
            Lookup::Found(secret) => Some(secret),
            Lookup::Missing => return Ok(failed(owner, Failure::missing_secret(), None, context)),
            Lookup::Forbidden(error, secret) => {
                let inputs = secret.map(|secret| decide::image_inputs(&image, Some(&secret)));
                return Ok(failed(owner, Failure::forbidden(&error.to_string()), inputs, context));
            }
        },
    };
    // Events report the changes of labelled Secrets only.
    let unwatched = secret.as_ref().filter(|secret| !decide::is_labelled(secret));
    let version = unwatched.and_then(|secret| secret.metadata.resource_version.as_deref());
    context.memory.note_unwatched(owner, version, Instant::now());
    let inputs = decide::image_inputs(&image, secret.as_deref());
    let kernel_arguments = match (image.kernel_arguments, decide::network_data(secret.as_deref())) {
        (Ok(kernel_arguments), Ok(_)) => kernel_arguments,
        (Err(failure), _) | (_, Err(failure)) => return Ok(failed(owner, failure, Some(inputs), context)),
    };
    let (requested, image_owner, images) = (Arc::clone(object), owner.to_owned(), Arc::clone(&context.images));
    let published = build(move || {
        images.publish(&ImageRequest {
            owner: &image_owner,
            host: requested.name(),
            format: image.format,
            architecture: &image.architecture,
            stream: image.stream.as_deref(),
            network: decide::network_data(secret.as_deref()).ok().flatten(),
            kernel_arguments: &kernel_arguments,
        })
    });
    match published.await? {
        Ok(image) => Ok(Outcome::Published(image, inputs)),
        Err(BuildError::Invalid { message, .. }) => {
            Ok(failed(owner, Failure::invalid(&message), Some(inputs), context))
        }
        Err(BuildError::NoBase(message)) => {
            Ok(without_base(object, owner, Failure::invalid(&message), Some(inputs), context))
        }
        Err(BuildError::NotReady(message)) => Ok(not_ready(owner, message, Some(inputs), context)),
        Err(BuildError::Kept(message)) => Ok(Outcome::NotReady(message, Some(inputs), Duration::ZERO)),
        Err(BuildError::Other(message)) => Err(ReconcileError::Build(message)),
    }
}

fn failed(owner: &str, failure: Failure, inputs: Option<ImageInputs>, context: &Context) -> Outcome {
    let since = context.memory.duration(owner, Trouble::Failure(failure.reason), Instant::now());
    Outcome::Failed(failure, inputs, since)
}

fn not_ready(owner: &str, message: String, inputs: Option<ImageInputs>, context: &Context) -> Outcome {
    Outcome::NotReady(message, inputs, context.memory.duration(owner, Trouble::Base, Instant::now()))
}

/// There is no file of a base for this image. If the image was published, the file may be away only for a moment, for example
/// while somebody replaces it: a host may be about to boot from the image.
fn without_base(
    object: &PreprovisioningImage,
    owner: &str,
    failure: Failure,
    inputs: Option<ImageInputs>,
    context: &Context,
) -> Outcome {
    if !decide::has_image(object, inputs.as_ref()) {
        return failed(owner, failure, inputs, context);
    }
    match context.memory.duration(owner, Trouble::Base, Instant::now()) {
        waited if waited < PATIENCE => Outcome::NotReady(failure.message, inputs, waited),
        _ => Outcome::Failed(failure, inputs, Duration::ZERO),
    }
}

/// Whether an object has the finalizers that it should have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Finalizers {
    Present,
    /// dayone has just written them.
    Written,
    /// This replica did not lead, or the object is gone.
    Missing,
}

/// Writes the finalizers that the object should have.
async fn write_finalizers(
    object: &PreprovisioningImage,
    owner: &str,
    context: &Context,
) -> Result<Finalizers, ReconcileError> {
    let Some(finalizers) = decide::finalizers(object) else { return Ok(Finalizers::Present) };
    if !context.may_write(object, owner) {
        return Ok(Finalizers::Missing);
    }
    let patch = json!({ "metadata": { "resourceVersion": object.version(), "finalizers": finalizers } });
    let written = context.patch(object, owner, ("change the finalizers", None), patch).await?;
    Ok(if written.is_some() { Finalizers::Written } else { Finalizers::Missing })
}

async fn write_status(
    object: &PreprovisioningImage,
    owner: &str,
    status: &PreprovisioningImageStatus,
    (outcome, goal): (&Outcome, Digest),
    context: &Context,
) -> Result<(), ReconcileError> {
    let patch = decide::patch(object.version(), status);
    let written = context.patch(object, owner, ("write the status", Some("status")), patch).await?;
    let Some(written) = written else { return Ok(()) };
    context.contention.wrote(owner, goal, decide::content(&written.status));
    let mut report = None;
    match outcome {
        Outcome::Published(image, _) => report = Some(&image.report),
        Outcome::Failed(failure, ..) => context.metrics.failed(failure.reason),
        Outcome::NotReady(..) => {}
    }
    context.events.publish(object, &decide::status_events(&object.status, status, report));
    Ok(())
}

#[cfg(test)]
mod tests;
