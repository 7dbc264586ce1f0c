//! Reconciles one DataImage.

use std::sync::Arc;
use std::time::Instant;

use imagelib::digest::Digest;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::runtime::reflector::ObjectRef;
use serde_json::json;

use super::DataImage;
use super::desired::{self, Desired, DesiredDrive, reason};
use super::secrets;
use crate::host_images::{BuildError, DriveRequest, PublishedImage};
use crate::kubernetes::claim;
use crate::kubernetes::decide::{self, Failure, ObjectEvent};
use crate::kubernetes::kind::{Kind as _, Memory as _};
use crate::kubernetes::problem::request;
use crate::kubernetes::reconcile::{RESYNC, Reconcile, ReconcileError, Reconciled, build};

type Context = crate::kubernetes::context::Context<DataImage>;

impl Reconcile for DataImage {
    /// Publishes the drive that the object describes, and writes its URL.
    async fn reconcile(object: &Arc<Self>, owner: &str, context: &Context) -> Result<Reconciled, ReconcileError> {
        let frozen = desired::is_frozen(object);
        // A rotation of the installation key ends the URL of a drive that does not change.
        let has_lost = || context.images.drive(owner).is_some_and(|drive| is_lost(&object.spec.url, &drive));
        if frozen && context.memory.is_published(owner) && has_lost() {
            context.memory.forget(owner);
        }
        let (outcome, watched) = match desired::desired(object) {
            Desired::Unmanaged => {
                forget(object, owner, context);
                return Ok(Reconciled::settled());
            }
            Desired::Drive(_) if frozen && context.memory.is_published(owner) => {
                context.failing.note(owner, None);
                return Ok(Reconciled::settled());
            }
            Desired::Drive(drive) => {
                let watched = are_watched(object, &drive, context).await?;
                let outcome = publish(object, owner, drive.clone(), context).await?;
                (outcome.map(|image| (image, drive)), watched)
            }
            Desired::Invalid(failure) => (Err(failure), true),
        };
        // If the object was deleted meanwhile, so was its drive: do not bring the drive back.
        if context.is_gone(object) {
            forget(object, owner, context);
            return Ok(Reconciled::settled());
        }
        let outcome = match outcome {
            Ok((image, _)) if frozen && is_lost(&object.spec.url, &image) => {
                Err(Failure::lost("the object is paused or being deleted", "spec.url"))
            }
            outcome => outcome,
        };
        let url = outcome.as_ref().map(|(image, _)| image.url.clone()).map_err(Clone::clone);
        let differs = context.memory.note(owner, &url, Instant::now());
        // Nobody misses a frozen drive that this process still serves, or that never had a URL.
        let is_missed = !frozen || (!object.spec.url.is_empty() && !context.memory.is_published(owner));
        let failure = url.as_ref().err().map(|failure| failure.reason);
        context.failing.note(owner, failure.filter(|_| is_missed));
        // The lease holder reads a Secret again that is missing or has no label. It labels the Secret, or writes the URL of another drive.
        // Either is an event for the other replicas that have a drive.
        let waits_for_event = watched || (url.is_ok() && !context.leads());
        let again = if waits_for_event { RESYNC } else { context.memory.wait(owner, Instant::now()) };
        let settled = Reconciled { again, ..Reconciled::settled() };
        match outcome {
            Err(failure) if is_missed => {
                if context.leads() && context.memory.report(owner) {
                    context.metrics.failed(failure.reason);
                    let event = ObjectEvent::warning(failure.reason, &failure.message);
                    context.events.separate().publish(&**object, &[event]);
                } else if frozen && differs && !context.leads() {
                    context.report_lost(object, &failure, false);
                }
                Ok(settled)
            }
            _ if frozen => Ok(settled),
            Ok((image, _)) if image.url == object.spec.url => Ok(settled),
            Ok(_) if !context.leads() => Ok(Reconciled { result: "followed", again }),
            Ok((image, drive)) if context.may_write(object, owner) => {
                let (goal, present) = (Digest::of(image.url.as_bytes()), Digest::of(object.spec.url.as_bytes()));
                if let Some(left_alone) = context.stand_back(object, owner, goal, present) {
                    return Ok(Reconciled { again: again.min(left_alone), ..settled });
                }
                write(object, owner, &image, &drive, context).await?;
                context.record_order(object, &image);
                Ok(Reconciled { again, ..Reconciled::written() })
            }
            _ => Ok(settled),
        }
    }
}

/// Whether dayone has written the URL `kept`, and does not serve this drive under this URL.
fn is_lost(kept: &str, drive: &PublishedImage) -> bool {
    is_former_url(kept, &drive.url) && drive.other_url.as_deref() != Some(kept)
}

/// Whether dayone has written the URL `kept` for another drive than the present drive. A URL with another host comes from the user.
fn is_former_url(kept: &str, present: &str) -> bool {
    fn host(url: &str) -> Option<&str> {
        url.split('/').nth(2)
    }
    kept != present && host(kept).is_some() && host(kept) == host(present)
}

/// Discards what the owner has.
fn forget(object: &DataImage, owner: &str, context: &Context) {
    context.discard(object, owner);
    context.memory.forget(owner);
    context.failing.note(owner, None);
}

/// Whether dayone watches all Secrets of the drive, so that an event reports each change.
async fn are_watched(object: &DataImage, drive: &DesiredDrive, context: &Context) -> Result<bool, ReconcileError> {
    context.secrets.wait_until_ready().await.map_err(|_| ReconcileError::Ended)?;
    let is_watched = |name| context.secrets.get(&ObjectRef::new(name).within(object.namespace())).is_some();
    Ok(drive.secrets().all(is_watched))
}

async fn publish(
    object: &Arc<DataImage>,
    owner: &str,
    drive: DesiredDrive,
    context: &Context,
) -> Result<Result<PublishedImage, Failure>, ReconcileError> {
    let secrets = read(object, &drive, context).await?;
    let (object, owner, images) = (Arc::clone(object), owner.to_owned(), Arc::clone(&context.images));
    let published = build(move || {
        let documents = secrets::documents(&drive, &secrets)?;
        Ok(images.publish_drive(&DriveRequest {
            owner: &owner,
            host: object.name(),
            kind: drive.kind,
            file_system: drive.file_system,
            network: documents.network,
            user_data: documents.user_data,
            meta_data: documents.meta_data,
        }))
    });
    match published.await? {
        Ok(Ok(image)) => Ok(Ok(image)),
        Ok(Err(BuildError::Invalid { message, .. })) => Ok(Err(Failure { reason: reason::INVALID, message })),
        Ok(Err(
            BuildError::NoBase(message)
            | BuildError::NotReady(message)
            | BuildError::Kept(message)
            | BuildError::Other(message),
        )) => Err(ReconcileError::Build(message)),
        Err(failure) => Ok(Err(failure)),
    }
}

/// Reads the drive's Secrets from the API server: in memory, dayone keeps only the network data of PreprovisioningImages.
/// Leaves out those that do not exist.
async fn read(
    object: &DataImage,
    drive: &DesiredDrive,
    context: &Context,
) -> Result<Vec<(String, Secret)>, ReconcileError> {
    let api: Api<Secret> = Api::namespaced(context.client.clone(), object.namespace());
    let mut found: Vec<(String, Secret)> = Vec::new();
    for name in drive.secrets() {
        if found.iter().any(|(known, _)| known == name) {
            continue;
        }
        let secret = match request(format!("read the Secret {name}"), api.get_opt(name)).await? {
            Some(secret) if context.leads() && !object.is_deleting() => {
                claim::label_if_possible(object, secret, context).await
            }
            Some(secret) => secret,
            None => continue,
        };
        found.push((name.to_owned(), secret));
    }
    Ok(found)
}

/// Writes the drive's URL, and publishes Events about it.
async fn write(
    object: &DataImage,
    owner: &str,
    image: &PublishedImage,
    drive: &DesiredDrive,
    context: &Context,
) -> Result<(), ReconcileError> {
    let patch = json!({
        "metadata": { "resourceVersion": object.version() },
        "spec": { "url": image.url },
    });
    if context.patch(object, owner, ("write the URL of the drive", None), patch).await?.is_some() {
        let written = Digest::of(image.url.as_bytes());
        context.contention.wrote(owner, written, written);
        // Without the URL: anyone who knows it can read the drive.
        let published = ObjectEvent::normal("DataImagePublished", format!("The drive is published: {}", drive.kind));
        let findings = decide::finding_events(&image.report, drive.network_data.as_deref().unwrap_or_default());
        let events: Vec<_> = std::iter::once(published).chain(findings).collect();
        context.events.separate().publish(object, &events);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_url_of_dayone_is_a_former_one() {
        let present = "http://images.example.test:6180/i/b/data.iso";
        assert!(is_former_url("http://images.example.test:6180/i/a/data.iso", present));
        for other in [present, "", "http://192.0.2.1/mine.iso", "http://images.example.test/i/a/data.iso", "mine.iso"] {
            assert!(!is_former_url(other, present), "{other}");
        }
    }

    #[test]
    fn a_url_under_the_other_installation_key_is_not_lost() {
        let [former, present] = ["a", "b"].map(|token| format!("http://images.example.test:6180/i/{token}/data.iso"));
        let mut drive = PublishedImage { url: present.clone(), ..PublishedImage::default() };
        assert!(is_lost(&former, &drive) && !is_lost(&present, &drive));
        drive.other_url = Some(former.clone());
        assert!(!is_lost(&former, &drive) && !is_lost(&present, &drive));
    }
}
