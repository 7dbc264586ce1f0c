//! Publishes Events about objects, which `kubectl describe` shows.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

use super::decide::ObjectEvent;
use super::kind::Kind;
use super::problem;

/// How long publishing the Events of one reconciliation may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Publishes Events. dayone goes on if it cannot.
#[derive(Clone)]
pub(super) struct EventRecorder {
    client: Client,
    reporter: Reporter,
    recorder: Recorder,
}

impl EventRecorder {
    pub(super) fn new(client: Client, identity: &str) -> Self {
        let reporter = Reporter { controller: "dayone".to_owned(), instance: Some(identity.to_owned()) };
        let recorder = Recorder::new(client.clone(), reporter.clone());
        Self { client, reporter, recorder }
    }

    /// A recorder whose Events are separate. By default, an Event only raises the count of an earlier one with the same
    /// reason, whose note stays. That is enough only if a condition has the text, too.
    pub(super) fn separate(&self) -> Self {
        Self { recorder: Recorder::new(self.client.clone(), self.reporter.clone()), ..self.clone() }
    }

    /// Logs what happened to an object, and publishes Events about it.
    pub(super) async fn publish<K: Kind>(&self, object: &K, events: &[ObjectEvent]) {
        let (kind, namespace, name) = (K::kind(&()), object.namespace(), object.name());
        for event in events {
            if event.warning {
                tracing::warn!(%kind, namespace, name, reason = event.reason, "{}", event.note);
            } else {
                tracing::info!(%kind, namespace, name, reason = event.reason, "{}", event.note);
            }
        }
        let regarding = object.object_ref(&());
        let publish = async {
            for ObjectEvent { warning, reason, note, field } in events {
                // With the field as a second object, Events about different findings are not counted as one.
                let secondary = field.as_ref().map(|field| ObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Secret".to_owned()),
                    name: Some(field.secret.clone()),
                    namespace: regarding.namespace.clone(),
                    field_path: Some(field.path.clone()),
                    ..ObjectReference::default()
                });
                let event = Event {
                    type_: if *warning { EventType::Warning } else { EventType::Normal },
                    reason: (*reason).to_owned(),
                    note: Some(note.clone()),
                    action: "Reconcile".to_owned(),
                    secondary,
                };
                while let Err(error) = self.recorder.publish(&event, &regarding).await {
                    let Some(wait) = problem::retry_after(&error) else {
                        tracing::debug!(reason, "cannot publish an Event: {}", problem::describe(&error));
                        break;
                    };
                    tokio::time::sleep(wait).await;
                }
            }
        };
        if tokio::time::timeout(PATIENCE, publish).await.is_err() {
            tracing::debug!("the API server did not accept all Events within {} s", PATIENCE.as_secs());
        }
    }
}
