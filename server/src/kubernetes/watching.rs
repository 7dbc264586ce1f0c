//! Watches objects and Secrets, keeps them in memory, and queues the objects that a change concerns.

use std::collections::HashSet;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, Stream};
use k8s_openapi::api::core::v1::Secret;
use kube::core::DeserializeGuard;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::reflector::store::Writer;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedSender;

use super::configuration::WATCH_SECONDS;
use super::context::Context;
use super::decide;
use super::kind::Kind;
use super::problem::describe_watch;
use super::resources::SECRET_LABEL;

/// How long to wait before dayone lists a kind again that the API server does not know: at first, and at most.
const ABSENT_FIRST: Duration = Duration::from_secs(1);
const MAX_ABSENT: Duration = Duration::from_mins(5);

/// The longest wait after a failed watch. Kube's own minute is meant for thousands of watchers. dayone has three, and a
/// host waits for its image.
const MAX_BACKOFF: Duration = Duration::from_secs(8);

/// How many objects a page of a list has. A Secret may have a MiB, and an object somewhat more. While dayone reads a page, the page takes
/// two to three times its size: the library's 500 objects would take more memory than the Pod has.
const PAGE: u32 = 50;

/// The queue of the objects of one kind. The scheduler behind it keeps each object at most once.
pub(super) struct WorkQueue<K: Kind> {
    pub(super) context: Arc<Context<K>>,
    pub(super) sender: UnboundedSender<ObjectRef<K>>,
}

impl<K: Kind> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self { context: Arc::clone(&self.context), sender: self.sender.clone() }
    }
}

impl<K: Kind> WorkQueue<K> {
    fn send(&self, object: &K) {
        // The receiver is gone when dayone stops.
        let _ = self.sender.send(ObjectRef::from_obj(object));
    }

    /// Queues all objects.
    pub(super) fn send_all(&self) {
        self.context.objects.state().iter().for_each(|object| self.send(object));
    }
}

/// Keeps the objects of a kind up to date, discards the images of deleted ones, and queues changed ones.
pub(super) async fn objects<K: Kind>(api: Api<DeserializeGuard<K>>, mut writer: Writer<K>, queue: WorkQueue<K>) {
    let config = match K::FOREIGN_LABEL {
        Some(label) => config().labels(&format!("!{label}")),
        None => config(),
    };
    let context = &queue.context;
    let events = tolerate_absence(watched(api, config), Arc::clone(context));
    let mut events = pin!(logged(events, K::plural(&()).into_owned()));
    // The owners in the present list, including objects that dayone cannot read.
    let mut listed = HashSet::new();
    while let Some(event) = events.next().await {
        let (owner, event) = readable(event);
        let missing = if matches!(event, Some(Event::InitDone)) { missing(context, &listed) } else { Vec::new() };
        if let Some(event) = &event {
            writer.apply_watcher_event(event);
        }
        match event {
            Some(Event::Apply(object)) => queue.send(&object),
            Some(Event::Delete(object)) => context.forget(&object, &owner),
            Some(Event::Init) => listed.clear(),
            Some(Event::InitDone) => {
                for object in &missing {
                    context.forget(object, &object.owner());
                }
                context.readiness.objects_listed(context.objects.state().iter().map(|object| object.owner()));
                // Also the images of objects that dayone could not read, and therefore did not keep.
                context.images.retain(&|owner| !K::is_owner(owner) || listed.contains(owner));
                queue.send_all();
                listed.clear();
            }
            Some(Event::InitApply(_)) | None => {
                listed.insert(owner);
            }
        }
        K::count(&context.metrics, context.objects.len());
    }
}

/// The known objects that are not in a new list: they were deleted while dayone did not watch.
fn missing<K: Kind>(context: &Context<K>, listed: &HashSet<String>) -> Vec<Arc<K>> {
    context.objects.state().into_iter().filter(|object| !listed.contains(&object.owner())).collect()
}

/// What all watches have in common.
fn config() -> watcher::Config {
    watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE)
}

/// Kube's watcher, with a wait after each failure. If the API server refuses to begin a watch with 410, because it no longer knows the
/// changes since the last one, the watcher would ask for the same changes for ever. A new watcher lists the objects first.
fn watched<T: Resource + Clone + DeserializeOwned + Debug + Send + 'static>(
    api: Api<T>,
    config: watcher::Config,
) -> impl Stream<Item = Result<Event<T>, watcher::Error>> + Send {
    let begin = move || watch(api.clone(), config.clone()).boxed();
    let first = begin();
    let events = stream::unfold((first, begin), |(mut events, begin)| async move {
        let event = events.next().await?;
        if let Err(error @ watcher::Error::WatchStartFailed(_)) = &event
            && describe_watch(error).0 == 410
        {
            events = begin();
        }
        Some((event, (events, begin)))
    });
    events.backoff(ShortBackoff::default())
}

/// Kube's wait after each failure of a watch, but never longer than [`MAX_BACKOFF`].
#[derive(Default)]
struct ShortBackoff(watcher::DefaultBackoff);

impl Iterator for ShortBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.next().map(|wait| wait.min(MAX_BACKOFF))
    }
}

impl Backoff for ShortBackoff {
    fn reset(&mut self) {
        self.0.reset();
    }
}

/// Returns the owner that an event is about, and the event; no event if dayone cannot read the object.
fn readable<K: Kind>(event: Event<DeserializeGuard<K>>) -> (String, Option<Event<K>>) {
    let wrap: fn(K) -> Event<K> = match event {
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
            let mut object = K::default();
            *object.meta_mut() = invalid.metadata;
            let (kind, namespace, name) = (K::kind(&()), object.namespace(), object.name());
            tracing::warn!(%kind, namespace, name, "dayone cannot read this object, and leaves it alone: {}", invalid.error);
            // The metadata is enough to see that an object is deleted, or being deleted.
            let (owner, deleting) = (object.owner(), object.is_deleting());
            let event = wrap(object);
            (owner, Some(event).filter(|event| deleting || matches!(event, Event::Delete(_))))
        }
    }
}

/// Gets to know about changes of Secrets.
pub(super) trait SecretListener: Send + Sync {
    /// All Secrets are known.
    fn secrets_listed(&self);

    /// This Secret has changed, or is gone.
    fn secret_changed(&self, secret: &Secret);
}

impl<K: Kind> SecretListener for WorkQueue<K> {
    fn secrets_listed(&self) {
        self.context.readiness.secrets_listed();
        self.send_all();
    }

    fn secret_changed(&self, secret: &Secret) {
        let uses_it =
            |object: &K| secret.metadata.namespace.as_deref() == Some(object.namespace()) && object.uses(secret);
        self.context.objects.state_filter(uses_it).iter().for_each(|object| self.send(object));
    }
}

/// Keeps the labelled Secrets up to date, and notifies the listeners.
pub(super) async fn secrets(api: Api<Secret>, mut writer: Writer<Secret>, listeners: Vec<Box<dyn SecretListener>>) {
    let (label, value) = SECRET_LABEL;
    let config = config().labels(&format!("{label}={value}"));
    let mut events = pin!(logged(watched(api, config), "secrets".to_owned()));
    while let Some(event) = events.next().await {
        let event = event.modify(decide::reduce);
        writer.apply_watcher_event(&event);
        match event {
            Event::Apply(secret) | Event::Delete(secret) => {
                for listener in &listeners {
                    listener.secret_changed(&secret);
                }
            }
            Event::InitDone => listeners.iter().for_each(|listener| listener.secrets_listed()),
            Event::Init | Event::InitApply(_) => {}
        }
    }
}

/// Removes the errors that say that an optional kind does not exist, and then waits before the next attempt. The wait is
/// short at first, because an API server that has just started does not know all of its own kinds.
fn tolerate_absence<K: Kind, T: Send + 'static>(
    events: impl Stream<Item = Result<Event<T>, watcher::Error>>,
    context: Arc<Context<K>>,
) -> impl Stream<Item = Result<Event<T>, watcher::Error>> {
    let mut absent: Option<Duration> = None;
    events.filter_map(move |event| {
        let mut wait = Duration::ZERO;
        match &event {
            Err(error) if K::OPTIONAL && matches!(describe_watch(error).0, 403 | 404) => {
                if absent.is_none() {
                    // Readiness must not wait for objects that may never exist.
                    context.readiness.objects_listed(std::iter::empty());
                    let error = describe_watch(error).1;
                    tracing::info!("dayone cannot watch {}: {error}; it tries again from time to time", K::plural(&()));
                }
                wait = absent.map_or(ABSENT_FIRST, |wait| wait.saturating_mul(2).min(MAX_ABSENT));
                absent = Some(wait);
            }
            // Comes before each attempt.
            Ok(Event::Init) => {}
            Ok(_) if absent.take().is_some() => tracing::info!("dayone watches {}", K::plural(&())),
            _ => {}
        }
        async move {
            if wait.is_zero() {
                return Some(event);
            }
            tokio::time::sleep(wait).await;
            None
        }
    })
}

/// Removes the errors. Logs when the watch fails for another reason than before, and when it works again.
fn logged<T>(
    events: impl Stream<Item = Result<Event<T>, watcher::Error>>,
    what: String,
) -> impl Stream<Item = Event<T>> {
    let mut failure = None;
    events.filter_map(move |event| {
        let event = match event {
            Ok(event) => {
                // `Init` comes before each attempt.
                if !matches!(event, Event::Init) && failure.take().is_some() {
                    tracing::info!("dayone watches {what} again");
                }
                Some(event)
            }
            Err(error) => {
                let (_, error) = describe_watch(&error);
                if failure.as_ref() != Some(&error) {
                    tracing::warn!(
                        "cannot watch {what}: {error}; dayone tries again, and serves the images that it has"
                    );
                    failure = Some(error);
                }
                None
            }
        };
        std::future::ready(event)
    })
}

#[cfg(test)]
mod tests {
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_wait_after_a_failed_watch_is_short() {
        let waits: Vec<_> = ShortBackoff::default().take(50).collect();
        assert!(waits[0] < MAX_BACKOFF, "{waits:?}");
        assert!(waits.iter().all(|wait| *wait <= MAX_BACKOFF), "{waits:?}");
    }

    #[tokio::test]
    async fn after_a_watch_that_the_api_server_refuses_as_too_old_the_objects_are_listed_again() {
        let service = tower::service_fn(|request: http::Request<Body>| {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let (status, body) = if is_watch {
                (410, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "old", "code": 410}))
            } else {
                let metadata = json!({"resourceVersion": "1"});
                (200, json!({"kind": "SecretList", "apiVersion": "v1", "metadata": metadata, "items": []}))
            };
            let body = Body::from(body.to_string().into_bytes());
            std::future::ready(http::Response::builder().status(status).body(body))
        });
        let api: Api<Secret> = Api::namespaced(Client::new(service, "hosts"), "hosts");
        let lists = watched(api, watcher::Config::default())
            .filter(|event| std::future::ready(matches!(event, Ok(Event::InitDone))))
            .take(2)
            .count();
        let lists = tokio::time::timeout(Duration::from_secs(20), lists).await;
        assert_eq!(lists.expect("a second list"), 2);
    }

    #[tokio::test]
    async fn a_page_of_a_list_fits_into_the_memory_even_if_every_secret_has_a_mib() {
        let (asked, mut lists) = tokio::sync::mpsc::unbounded_channel();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            asked.send(request.uri().query().unwrap_or_default().to_owned()).unwrap();
            std::future::pending::<Result<http::Response<Body>, std::convert::Infallible>>()
        });
        let (_, writer) = kube::runtime::reflector::store();
        let api = Api::namespaced(Client::new(service, "hosts"), "hosts");
        let watching = tokio::spawn(secrets(api, writer, Vec::new()));
        let query = tokio::time::timeout(Duration::from_secs(10), lists.recv()).await.expect("a list").unwrap();
        watching.abort();
        assert!(query.split('&').any(|pair| pair == "limit=50"), "{query}");
    }
}
