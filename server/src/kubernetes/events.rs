//! Publishes Events about objects, which `kubectl describe` shows. One task sends them: no image waits for an Event.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::decide::ObjectEvent;
use super::kind::Kind;
use super::metrics::KubernetesMetrics;
use super::problem;

/// How long publishing the Events of one reconciliation may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many reconciliations' Events wait at most. Events are optional, and the memory is limited.
const QUEUE: usize = 1024;

/// The Events of how many reconciliations are sent at a time.
const CONCURRENT: usize = 8;

/// Publishes Events. dayone goes on if it cannot.
#[derive(Clone)]
pub(super) struct EventRecorder {
    queue: mpsc::Sender<Queued>,
    separate: bool,
    metrics: KubernetesMetrics,
    /// Whether the log already says that dayone drops Events.
    drops: Arc<AtomicBool>,
}

/// The Events of one reconciliation.
struct Queued {
    regarding: ObjectReference,
    events: Vec<Event>,
    separate: bool,
}

impl EventRecorder {
    /// Returns a recorder, and the task that sends its Events.
    pub(super) fn new(
        client: Client,
        identity: &str,
        metrics: KubernetesMetrics,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let reporter = Reporter { controller: "dayone".to_owned(), instance: Some(identity.to_owned()) };
        let recorder = Recorder::new(client.clone(), reporter.clone());
        let (queue, mut queued) = mpsc::channel(QUEUE);
        let sending = stream::poll_fn(move |task| queued.poll_recv(task)).for_each_concurrent(
            CONCURRENT,
            move |queued: Queued| {
                let separate = queued.separate.then(|| Recorder::new(client.clone(), reporter.clone()));
                send(separate.unwrap_or_else(|| recorder.clone()), queued)
            },
        );
        (Self { queue, separate: false, metrics, drops: Arc::default() }, sending)
    }

    /// A recorder whose Events are separate. By default, an Event only raises the count of an earlier one with the same
    /// reason, whose note stays. That is enough only if a condition has the text, too.
    pub(super) fn separate(&self) -> Self {
        Self { separate: true, ..self.clone() }
    }

    /// Logs what happened to an object, and queues Events about it.
    pub(super) fn publish<K: Kind>(&self, object: &K, events: &[ObjectEvent]) {
        let (kind, namespace, name) = (K::kind(&()), object.namespace(), object.name());
        for event in events {
            if event.warning {
                tracing::warn!(%kind, namespace, name, reason = event.reason, "{}", event.note);
            } else {
                tracing::info!(%kind, namespace, name, reason = event.reason, "{}", event.note);
            }
        }
        if !events.is_empty() {
            let regarding = object.object_ref(&());
            let events = events.iter().map(|event| published(event, &regarding)).collect();
            self.queue(Queued { regarding, events, separate: self.separate });
        }
    }

    /// Queues Events, or drops them if too many wait.
    fn queue(&self, queued: Queued) {
        match self.queue.try_send(queued) {
            Ok(()) => {
                if self.queue.capacity().saturating_add(1) >= self.queue.max_capacity() {
                    // Nothing waited, so that dayone may warn again.
                    self.drops.store(false, Ordering::Relaxed);
                }
            }
            Err(TrySendError::Full(queued)) => {
                self.metrics.dropped_events(queued.events.len());
                if !self.drops.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        "the API server takes Events too slowly: those of {QUEUE} objects wait, and dayone drops further ones"
                    );
                }
            }
            // dayone stops.
            Err(TrySendError::Closed(_)) => {}
        }
    }
}

/// The Event as the API server gets it.
fn published(event: &ObjectEvent, regarding: &ObjectReference) -> Event {
    // With the field as a second object, Events about different findings are not counted as one.
    let secondary = event.field.as_ref().map(|field| ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Secret".to_owned()),
        name: Some(field.secret.clone()),
        namespace: regarding.namespace.clone(),
        field_path: Some(field.path.clone()),
        ..ObjectReference::default()
    });
    Event {
        type_: if event.warning { EventType::Warning } else { EventType::Normal },
        reason: event.reason.to_owned(),
        note: Some(event.note.clone()),
        action: "Reconcile".to_owned(),
        secondary,
    }
}

/// Sends the Events of one reconciliation, in their order.
async fn send(recorder: Recorder, Queued { regarding, events, .. }: Queued) {
    let sending = async {
        for event in &events {
            while let Err(error) = recorder.publish(event, &regarding).await {
                let Some(wait) = problem::retry_after(&error) else {
                    let reason = event.reason.as_str();
                    tracing::debug!(reason, "cannot publish an Event: {}", problem::describe(&error));
                    break;
                };
                tokio::time::sleep(wait).await;
            }
        }
    };
    if tokio::time::timeout(PATIENCE, sending).await.is_err() {
        tracing::debug!("the API server did not accept all Events within {} s", PATIENCE.as_secs());
    }
}

#[cfg(test)]
mod tests {
    use kube::client::Body;
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::kubernetes::resources::PreprovisioningImage;

    #[tokio::test]
    async fn events_that_nobody_takes_hold_up_nobody_and_are_dropped_and_counted() {
        let silent = tower::service_fn(|_: http::Request<Body>| {
            std::future::pending::<Result<http::Response<Body>, std::convert::Infallible>>()
        });
        let mut registry = Registry::default();
        let metrics = KubernetesMetrics::new(&mut registry);
        let (recorder, sending) = EventRecorder::new(Client::new(silent, "hosts"), "dayone-0", metrics);
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(sending);
        let event = ObjectEvent::warning("Test", "a note");
        let both = [event.clone(), event];
        let begun = std::time::Instant::now();
        for _ in 0..QUEUE + 100 {
            recorder.publish(&PreprovisioningImage::default(), &both);
            recorder.separate().publish(&PreprovisioningImage::default(), &[]);
            tokio::task::yield_now().await;
        }
        assert!(begun.elapsed() < Duration::from_secs(4), "nothing waits: {:?}", begun.elapsed());
        let mut all = String::new();
        text::encode(&mut all, &registry).unwrap();
        let dropped = all.lines().find_map(|line| line.strip_prefix("kubernetes_dropped_events_total "));
        let expected = (100 - CONCURRENT) * both.len();
        assert_eq!(dropped, Some(expected.to_string().as_str()), "{all}");
    }
}
