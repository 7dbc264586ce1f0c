//! Events on objects: what became of them, where `kubectl describe` shows it.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};

use super::decide::Told;
use super::problem;
use super::resources::PreprovisioningImage;

/// Events are worth no more time than this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes Events. That one cannot be written stops nothing.
#[derive(Clone)]
pub(super) struct Announcer(Recorder);

impl Announcer {
    pub(super) fn new(client: Client, identity: &str) -> Self {
        let reporter = Reporter { controller: "dayone".to_owned(), instance: Some(identity.to_owned()) };
        Self(Recorder::new(client, reporter))
    }

    pub(super) async fn tell(&self, object: &PreprovisioningImage, all: &[Told]) {
        let regarding = object.object_ref(&());
        let publish = async {
            for told in all {
                // Without it, findings of one kind would be counted as one.
                let secondary = told.path.as_ref().map(|path| ObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Secret".to_owned()),
                    name: Some(object.spec.network_data_name.clone()),
                    namespace: regarding.namespace.clone(),
                    field_path: Some(path.clone()),
                    ..ObjectReference::default()
                });
                let event = Event {
                    type_: if told.warning { EventType::Warning } else { EventType::Normal },
                    reason: told.reason.to_owned(),
                    note: Some(told.note.clone()),
                    action: "Reconcile".to_owned(),
                    secondary,
                };
                if let Err(error) = self.0.publish(&event, &regarding).await {
                    tracing::debug!(reason = told.reason, "an Event was not written: {}", problem::describe(&error));
                }
            }
        };
        if tokio::time::timeout(PATIENCE, publish).await.is_err() {
            tracing::debug!("Events were not written in time");
        }
    }
}
