//! Events on objects: what became of them, where `kubectl describe` shows it.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

use super::decide::Told;
use super::kind::Kind;
use super::problem;

/// Events are worth no more time than this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes Events. That one cannot be written stops nothing.
#[derive(Clone)]
pub(super) struct Announcer {
    client: Client,
    reporter: Reporter,
    recorder: Recorder,
}

impl Announcer {
    pub(super) fn new(client: Client, identity: &str) -> Self {
        let reporter = Reporter { controller: "dayone".to_owned(), instance: Some(identity.to_owned()) };
        Self::with(client, reporter)
    }

    fn with(client: Client, reporter: Reporter) -> Self {
        let recorder = Recorder::new(client.clone(), reporter.clone());
        Self { client, reporter, recorder }
    }

    /// Writes Events of their own. Otherwise those with the same reason as one before are counted upon that, and its note
    /// stays: fit for what a condition says, too.
    pub(super) fn anew(&self) -> Self {
        Self::with(self.client.clone(), self.reporter.clone())
    }

    /// Tells about an object, in the log and by Events.
    pub(super) async fn tell<K: Kind>(&self, object: &K, all: &[Told]) {
        let (kind, namespace, name) = (K::kind(&()), object.namespace(), object.name());
        for told in all {
            if told.warning {
                tracing::warn!(%kind, namespace, name, reason = told.reason, "{}", told.note);
            } else {
                tracing::info!(%kind, namespace, name, reason = told.reason, "{}", told.note);
            }
        }
        let regarding = object.object_ref(&());
        let publish = async {
            for told in all {
                // Without it, findings of one kind would be counted as one.
                let secondary = told.place.as_ref().map(|place| ObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Secret".to_owned()),
                    name: Some(place.secret.clone()),
                    namespace: regarding.namespace.clone(),
                    field_path: Some(place.path.clone()),
                    ..ObjectReference::default()
                });
                let event = Event {
                    type_: if told.warning { EventType::Warning } else { EventType::Normal },
                    reason: told.reason.to_owned(),
                    note: Some(told.note.clone()),
                    action: "Reconcile".to_owned(),
                    secondary,
                };
                if let Err(error) = self.recorder.publish(&event, &regarding).await {
                    tracing::debug!(reason = told.reason, "an Event was not written: {}", problem::describe(&error));
                }
            }
        };
        if tokio::time::timeout(PATIENCE, publish).await.is_err() {
            tracing::debug!("Events were not written in time");
        }
    }
}
