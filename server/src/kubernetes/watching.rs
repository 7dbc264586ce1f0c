//! What is known of the cluster: objects and Secrets, watched, reduced, kept in memory; and whom a change concerns.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::Stream;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::core::DeserializeGuard;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::reflector::store::Writer;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use tokio::sync::mpsc::UnboundedSender;

use super::context::Context;
use super::decide;
use super::kind::Kind;
use super::problem;
use super::resources::SECRET_LABEL;

/// How long to wait before a kind that the API server does not know is asked for again: so long, and longer each time.
const ABSENT_FIRST: Duration = Duration::from_secs(1);
const ABSENT_AT_MOST: Duration = Duration::from_mins(5);

/// How long an API server that is back is left unasked at most. Kube's own minute is meant for thousands of watchers;
/// here are three, and a host waits for its image.
const UNANSWERED_AT_MOST: Duration = Duration::from_secs(8);

/// Objects to be looked at. The scheduler behind it holds each at most once.
pub(super) type Queue<K> = UnboundedSender<ObjectRef<K>>;

/// Where objects of one kind are looked at.
pub(super) struct Desk<K: Kind> {
    pub(super) context: Arc<Context<K>>,
    pub(super) queue: Queue<K>,
}

impl<K: Kind> Clone for Desk<K> {
    fn clone(&self) -> Self {
        Self { context: Arc::clone(&self.context), queue: self.queue.clone() }
    }
}

impl<K: Kind> Desk<K> {
    fn send(&self, object: &K) {
        // Nobody listens any more when dayone ends.
        let _ = self.queue.send(ObjectRef::from_obj(object));
    }

    /// Has all objects looked at again.
    pub(super) fn send_all(&self) {
        self.context.objects.state().iter().for_each(|object| self.send(object));
    }
}

/// Keeps the objects of a kind, and everything that belongs to them, as they are in the cluster.
pub(super) async fn objects<K: Kind>(api: Api<DeserializeGuard<K>>, mut writer: Writer<K>, desk: Desk<K>) {
    let config = watcher::Config::default();
    let config = match K::FOREIGN_LABEL {
        Some(label) => config.labels(&format!("!{label}")),
        None => config,
    };
    let context = &desk.context;
    let events = known(watch(api, config).backoff(Unanswered::default()), Arc::clone(context));
    let mut events = pin!(logged(events, K::plural(&()).into_owned()));
    // Of the list that is coming in; those that cannot be read are there all the same.
    let mut listed = HashSet::new();
    while let Some(event) = events.next().await {
        let (owner, event) = readable(event);
        if let Some(event) = &event {
            writer.apply_watcher_event(event);
        }
        match event {
            Some(Event::Apply(object)) => desk.send(&object),
            Some(Event::Delete(_)) => context.gone(&owner),
            Some(Event::Init) => listed.clear(),
            Some(Event::InitDone) => {
                context.readiness.objects_listed(context.objects.state().iter().map(|object| object.owner()));
                context.images.retain(&|owner| !K::is_owner(owner) || listed.contains(owner));
                desk.send_all();
                listed.clear();
            }
            Some(Event::InitApply(_)) | None => {
                listed.insert(owner);
            }
        }
        K::count(&context.metrics, context.objects.len());
    }
}

/// How long to wait after each failure of a watch: as kube does, but never for longer than a host should wait.
#[derive(Default)]
struct Unanswered(watcher::DefaultBackoff);

impl Iterator for Unanswered {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.0.next().map(|wait| wait.min(UNANSWERED_AT_MOST))
    }
}

impl Backoff for Unanswered {
    fn reset(&mut self) {
        self.0.reset();
    }
}

/// The event without objects that are none, and whose it is.
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
            tracing::warn!(%kind, namespace, name, "this object cannot be read, and is left alone: {}", invalid.error);
            // That an object is gone, or to go, is told by its metadata alone.
            let (owner, deleting) = (object.owner(), object.is_deleting());
            let event = wrap(object);
            (owner, Some(event).filter(|event| deleting || matches!(event, Event::Delete(_))))
        }
    }
}

/// Whom Secrets concern.
pub(super) trait Concerned: Send + Sync {
    /// All Secrets are known.
    fn secrets_listed(&self);

    /// This one has changed, or is gone.
    fn secret_changed(&self, secret: &Secret);
}

impl<K: Kind> Concerned for Desk<K> {
    fn secrets_listed(&self) {
        self.context.readiness.secrets_listed();
        self.send_all();
    }

    fn secret_changed(&self, secret: &Secret) {
        let concerns =
            |object: &K| secret.metadata.namespace.as_deref() == Some(object.namespace()) && object.uses(secret);
        self.context.objects.state_filter(concerns).iter().for_each(|object| self.send(object));
    }
}

/// Keeps the Secrets that are labelled, and tells whom they concern.
pub(super) async fn secrets(api: Api<Secret>, mut writer: Writer<Secret>, concerned: Vec<Box<dyn Concerned>>) {
    let (label, value) = SECRET_LABEL;
    let config = watcher::Config::default().labels(&format!("{label}={value}"));
    let events = watch(api, config).backoff(Unanswered::default());
    let mut events = pin!(logged(events, "secrets".to_owned()));
    while let Some(event) = events.next().await {
        let event = event.modify(decide::reduce);
        writer.apply_watcher_event(&event);
        match event {
            Event::Apply(secret) | Event::Delete(secret) => {
                for concerned in &concerned {
                    concerned.secret_changed(&secret);
                }
            }
            Event::InitDone => {
                for concerned in &concerned {
                    concerned.secrets_listed();
                }
            }
            Event::Init | Event::InitApply(_) => {}
        }
    }
}

/// The events, without errors that say that an optional kind is not there. It is asked for again: soon at first, since an
/// API server that has just started does not know all of its own kinds.
fn known<K: Kind, T: Send + 'static>(
    events: impl Stream<Item = Result<Event<T>, watcher::Error>>,
    context: Arc<Context<K>>,
) -> impl Stream<Item = Result<Event<T>, watcher::Error>> {
    let mut absent: Option<Duration> = None;
    events.filter_map(move |event| {
        let mut wait = Duration::ZERO;
        match &event {
            Err(error) if K::OPTIONAL && matches!(problem::watch_code(error), 403 | 404) => {
                if absent.is_none() {
                    // Nobody can wait for what may never be there.
                    context.readiness.objects_listed(std::iter::empty());
                    let error = problem::describe_watch(error);
                    tracing::info!("{} are not looked after: {error}; asked for again", K::plural(&()));
                }
                wait = absent.map_or(ABSENT_FIRST, |wait| wait.saturating_mul(2).min(ABSENT_AT_MOST));
                absent = Some(wait);
            }
            // Comes before each attempt.
            Ok(Event::Init) => {}
            Ok(_) if absent.take().is_some() => tracing::info!("{} are looked after", K::plural(&())),
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

/// The events, with a line in the log when the API server is away for another reason than before, and when it is back.
fn logged<T>(
    events: impl Stream<Item = Result<Event<T>, watcher::Error>>,
    what: String,
) -> impl Stream<Item = Event<T>> {
    let mut away = None;
    events.filter_map(move |event| {
        let event = match event {
            Ok(event) => {
                // One comes before each attempt.
                if !matches!(event, Event::Init) && away.take().is_some() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_server_is_never_left_unasked_for_long() {
        let waits: Vec<_> = Unanswered::default().take(50).collect();
        assert!(waits[0] < UNANSWERED_AT_MOST, "{waits:?}");
        assert!(waits.iter().all(|wait| *wait <= UNANSWERED_AT_MOST), "{waits:?}");
    }
}
