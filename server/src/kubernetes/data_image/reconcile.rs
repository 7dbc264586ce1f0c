//! One look at one DataImage.

use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::runtime::reflector::ObjectRef;
use serde_json::json;
use vocabulary::report::Report;

use super::DataImage;
use super::asked::{self, Asked, Wanted, reason};
use super::secrets;
use crate::kubernetes::claim;
use crate::kubernetes::decide::{self, Failure, Told};
use crate::kubernetes::kind::{Kind as _, Memory as _};
use crate::kubernetes::look::{Done, Look, RESYNC, ReconcileError};
use crate::kubernetes::problem::request;
use crate::kubernetes::provider::{BuildError, DriveRequest, PublishedImage};

type Context = crate::kubernetes::context::Context<DataImage>;

impl Look for DataImage {
    async fn look(object: &Arc<Self>, owner: &str, context: &Context) -> Result<Done, ReconcileError> {
        look(object, owner, context).await
    }
}

/// Publishes the drive that the object asks for, and writes where it is.
async fn look(object: &Arc<DataImage>, owner: &str, context: &Context) -> Result<Done, ReconcileError> {
    let held = asked::is_held(object);
    let (outcome, watched) = match asked::asked(object) {
        Asked::Nothing => {
            forget(owner, context);
            return Ok(Done::settled());
        }
        Asked::Drive(_) if held && context.memory.is_published(owner) => return Ok(Done::settled()),
        Asked::Drive(wanted) => {
            let watched = are_watched(object, &wanted, context).await?;
            let outcome = publish(object, owner, wanted.clone(), context).await?;
            (outcome.map(|image| (image, wanted)), watched)
        }
        Asked::Refused(failure) => (Err(failure), true),
    };
    // Meanwhile the object may have gone, and what belonged to it with it.
    if context.is_gone(object) {
        forget(owner, context);
        return Ok(Done::settled());
    }
    let url = outcome.as_ref().map(|(image, _)| image.url.clone()).map_err(Clone::clone);
    context.memory.note(owner, &url, Instant::now());
    let again = if watched { RESYNC } else { context.memory.wait(owner, Instant::now()) };
    let settled = Done { again, ..Done::settled() };
    match outcome {
        _ if held => Ok(settled),
        Ok((image, _)) if image.url == object.spec.url => Ok(settled),
        Ok(_) if !context.leads() => Ok(Done { result: "followed", again }),
        Ok((image, wanted)) if context.may_write(object, owner) => {
            write(object, owner, &image, &wanted, context).await?;
            Ok(Done { again, ..Done::written() })
        }
        Ok(_) => Ok(settled),
        Err(failure) => {
            if context.leads() && context.memory.is_untold(owner) {
                context.metrics.failed(failure.reason);
                let note = decide::bounded(&failure.message);
                context
                    .events
                    .anew()
                    .tell(&**object, &[Told { warning: true, reason: failure.reason, note, place: None }])
                    .await;
            }
            Ok(settled)
        }
    }
}

/// Takes back what the owner has.
fn forget(owner: &str, context: &Context) {
    context.images.discard(owner);
    context.memory.forget(owner);
}

/// Whether an event tells of each change of what the drive is made of.
async fn are_watched(object: &DataImage, wanted: &Wanted, context: &Context) -> Result<bool, ReconcileError> {
    context.secrets.wait_until_ready().await.map_err(|_| ReconcileError::Ended)?;
    let is_watched = |name| context.secrets.get(&ObjectRef::new(name).within(object.namespace())).is_some();
    Ok(wanted.secrets().all(is_watched))
}

async fn publish(
    object: &Arc<DataImage>,
    owner: &str,
    wanted: Wanted,
    context: &Context,
) -> Result<Result<PublishedImage, Failure>, ReconcileError> {
    let secrets = read(object, &wanted, context).await?;
    let (object, owner, images) = (Arc::clone(object), owner.to_owned(), Arc::clone(&context.images));
    let build = move || {
        let documents = secrets::documents(&wanted, &secrets)?;
        let order = DriveRequest {
            owner: &owner,
            host: object.name(),
            kind: wanted.kind,
            file_system: wanted.file_system,
            network: documents.network,
            user_data: documents.user_data,
            meta_data: documents.meta_data,
        };
        Ok(images.publish_drive(&order))
    };
    match tokio::task::spawn_blocking(build).await {
        Ok(Ok(Ok(image))) => Ok(Ok(image)),
        Ok(Ok(Err(BuildError::Invalid { message, .. }))) => Ok(Err(Failure { reason: reason::INVALID, message })),
        Ok(Ok(Err(BuildError::NotReady(message) | BuildError::Kept(message) | BuildError::Other(message)))) => {
            Err(ReconcileError::Build(message))
        }
        Ok(Err(failure)) => Ok(Err(failure)),
        Err(_) => Err(ReconcileError::Build("dayone failed; its log has a panic".to_owned())),
    }
}

/// The Secrets that are there, as the API server has them: of other Secrets' keys than a PreprovisioningImage's, nothing
/// is kept in memory.
async fn read(object: &DataImage, wanted: &Wanted, context: &Context) -> Result<Vec<(String, Secret)>, ReconcileError> {
    let api: Api<Secret> = Api::namespaced(context.client.clone(), object.namespace());
    let mut found: Vec<(String, Secret)> = Vec::new();
    for name in wanted.secrets() {
        if found.iter().any(|(known, _)| known == name) {
            continue;
        }
        let secret = request(|| format!("read the Secret {name}"), api.get_opt(name)).await?;
        let secret = match secret {
            Some(secret) if context.leads() && !object.is_deleting() => claim::label_if_possible(&api, secret).await,
            Some(secret) => secret,
            None => continue,
        };
        found.push((name.to_owned(), secret));
    }
    Ok(found)
}

/// Writes where the drive is, and tells so.
async fn write(
    object: &DataImage,
    owner: &str,
    image: &PublishedImage,
    wanted: &Wanted,
    context: &Context,
) -> Result<(), ReconcileError> {
    let patch = Patch::Merge(json!({
        "metadata": { "resourceVersion": object.version() },
        "spec": { "url": image.url },
    }));
    let (api, parameters) = (context.api(object), PatchParams::default());
    let write = api.patch(object.name(), &parameters, &patch);
    if context.wrote(request(|| "write where the drive is".to_owned(), write).await, object, owner)? {
        context.events.anew().tell(object, &told(wanted, &image.report)).await;
    }
    Ok(())
}

fn told(wanted: &Wanted, report: &Report) -> Vec<Told> {
    // Not where it is: whoever knows that can read it.
    let note = format!("The drive is published: {}", wanted.kind);
    let published = Told { warning: false, reason: "DataImagePublished", note, place: None };
    let findings = decide::findings(report, wanted.network_data.as_deref().unwrap_or_default());
    std::iter::once(published).chain(findings).collect()
}
