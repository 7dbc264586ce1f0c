//! What is known of the cluster: both kinds of objects, watched, reduced, kept in memory; and whom a change concerns.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::Stream;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::core::DeserializeGuard;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use tokio::sync::mpsc::UnboundedSender;

use super::decide;
use super::problem;
use super::reconcile::Context;
use super::resources::{FOREIGN_LABEL, OWNERS, PreprovisioningImage, SECRET_LABEL};

/// Objects to be looked at. The scheduler behind it holds each at most once.
pub(super) type Queue = UnboundedSender<ObjectRef<PreprovisioningImage>>;

/// Keeps the objects, and everything that belongs to them, as they are in the cluster.
pub(super) async fn objects(
    api: Api<DeserializeGuard<PreprovisioningImage>>,
    mut writer: Writer<PreprovisioningImage>,
    context: Arc<Context>,
    queue: Queue,
) {
    let selector = format!("!{FOREIGN_LABEL}");
    let events = watch(api, watcher::Config::default().labels(&selector)).default_backoff();
    let mut events = pin!(logged(events, "PreprovisioningImages"));
    // Of the list that is coming in; those that cannot be read are there all the same.
    let mut listed = HashSet::new();
    while let Some(event) = events.next().await {
        let (owner, event) = readable(event);
        if let Some(event) = &event {
            writer.apply_watcher_event(event);
        }
        match event {
            Some(Event::Apply(object)) => send(&queue, &object),
            Some(Event::Delete(_)) => gone(&context, &owner),
            Some(Event::Init) => listed.clear(),
            Some(Event::InitDone) => {
                let known = context.objects.state();
                context.readiness.objects_listed(known.iter().map(|object| object.owner()));
                context.images.retain(&|owner| !owner.starts_with(OWNERS) || listed.contains(owner));
                for object in &known {
                    send(&queue, object);
                }
                listed.clear();
            }
            Some(Event::InitApply(_)) | None => {
                listed.insert(owner);
            }
        }
        context.metrics.objects(context.objects.len());
    }
}

/// The event without objects that are none, and whose it is.
fn readable(event: Event<DeserializeGuard<PreprovisioningImage>>) -> (String, Option<Event<PreprovisioningImage>>) {
    let wrap: fn(PreprovisioningImage) -> Event<PreprovisioningImage> = match event {
        Event::Apply(_) => Event::Apply,
        Event::Delete(_) => Event::Delete,
        Event::InitApply(_) => Event::InitApply,
        Event::Init => return (String::new(), Some(Event::Init)),
        Event::InitDone => return (String::new(), Some(Event::InitDone)),
    };
    let (Event::Apply(object) | Event::Delete(object) | Event::InitApply(object)) = event else {
        return (String::new(), None);
    };
    match object.0 {
        Ok(mut object) => {
            object.reduce();
            (object.owner(), Some(wrap(object)))
        }
        Err(invalid) => {
            let object = PreprovisioningImage { metadata: invalid.metadata, ..PreprovisioningImage::default() };
            let (namespace, name) = (object.namespace(), object.name());
            tracing::warn!(
                namespace,
                name,
                "this PreprovisioningImage cannot be read, and is left alone: {}",
                invalid.error
            );
            // That an object is gone is told by its metadata alone.
            let deleted = matches!(wrap(PreprovisioningImage::default()), Event::Delete(_));
            (object.owner(), deleted.then(|| Event::Delete(object)))
        }
    }
}

fn gone(context: &Context, owner: &str) {
    context.images.discard(owner);
    context.readiness.seen(owner);
    context.retries.forget(owner);
    context.written.forget(owner);
}

fn send(queue: &Queue, object: &PreprovisioningImage) {
    // Nobody listens any more when dayone ends.
    let _ = queue.send(ObjectRef::from_obj(object));
}

/// Has all objects looked at again.
pub(super) fn send_all(context: &Context, queue: &Queue) {
    context.objects.state().iter().for_each(|object| send(queue, object));
}

/// Keeps the Secrets that are labelled. A change is for every object that names the Secret or that it belongs to.
pub(super) async fn secrets(api: Api<Secret>, mut writer: Writer<Secret>, context: Arc<Context>, queue: Queue) {
    let (label, value) = SECRET_LABEL;
    let events = watch(api, watcher::Config::default().labels(&format!("{label}={value}"))).default_backoff();
    let mut events = pin!(logged(events, "Secrets"));
    while let Some(event) = events.next().await {
        let event = event.modify(decide::reduce);
        writer.apply_watcher_event(&event);
        match event {
            Event::Apply(secret) | Event::Delete(secret) => {
                context
                    .objects
                    .state_filter(|object| concerns(&secret, object))
                    .iter()
                    .for_each(|object| send(&queue, object));
            }
            Event::InitDone => {
                context.readiness.secrets_listed();
                send_all(&context, &queue);
            }
            Event::Init | Event::InitApply(_) => {}
        }
    }
}

fn concerns(secret: &Secret, object: &PreprovisioningImage) -> bool {
    secret.metadata.namespace.as_deref() == Some(object.namespace())
        && (secret.metadata.name.as_deref() == Some(&object.spec.network_data_name)
            || secret
                .metadata
                .owner_references
                .iter()
                .flatten()
                .any(|owner| Some(&owner.uid) == object.metadata.uid.as_ref()))
}

/// The events, with a line in the log when the API server is away for another reason than before, and when it is back.
fn logged<T>(
    events: impl Stream<Item = Result<Event<T>, watcher::Error>>,
    what: &'static str,
) -> impl Stream<Item = Event<T>> {
    let mut away = None;
    events.filter_map(move |event| {
        let event = match event {
            Ok(event) => {
                if away.take().is_some() {
                    tracing::info!("{what} are watched again");
                }
                Some(event)
            }
            Err(error) => {
                let error = problem::describe_watch(&error);
                if away.as_ref() != Some(&error) {
                    tracing::warn!("{what} cannot be watched: {error}; tried again, and what is known is served on");
                    away = Some(error);
                }
                None
            }
        };
        std::future::ready(event)
    })
}
