//! What reconciling the objects of one kind needs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use imagelib::digest::Digest;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::contention::{Contention, Decision, key_of_secret};
use super::decide::{Failure, ObjectEvent};
use super::events::EventRecorder;
use super::failing::Failing;
use super::kind::{Kind, Memory as _};
use super::metrics::KubernetesMetrics;
use super::owner_permission::OwnerPermission;
use super::problem::{REQUEST, RequestError, request_within};
use super::readiness::Readiness;
use super::retries::Retries;
use crate::audit::{Audit, Event, Who};
use crate::host_images::{ImageProvider, PublishedImage};

/// The note of the Event about contention.
const ANOTHER_CONTROLLER: &str = "another controller replaces what dayone writes into this object each time, so dayone leaves \
    the object alone for 10 minutes. Fix: run one controller for a namespace, or give all of them the same key (--key-secret), \
    Lease (--lease), --images-publish-addr, settings and base images";

/// How long the first attempt waits for the API server to carry out a write. The webhooks behind it may take longer, but then only the
/// retries wait for them.
pub(super) const FIRST_WRITE: Duration = Duration::from_secs(5);

/// What reconciling the objects of one kind needs.
pub(super) struct Context<K: Kind> {
    pub(super) client: Client,
    pub(super) images: Arc<dyn ImageProvider>,
    pub(super) objects: Store<K>,
    pub(super) secrets: Store<Secret>,
    pub(super) leads: watch::Receiver<bool>,
    pub(super) events: EventRecorder,
    pub(super) metrics: KubernetesMetrics,
    pub(super) audit: Audit,
    pub(super) readiness: Readiness,
    pub(super) retries: Retries,
    pub(super) stale: StaleVersions,
    pub(super) contention: Arc<Contention>,
    pub(super) failing: Arc<Failing>,
    pub(super) owner_permission: Arc<OwnerPermission>,
    pub(super) memory: K::Memory,
}

impl<K: Kind> Context<K> {
    /// Returns a context for the objects of another kind, with the same client, images and Secrets, and with workers of its own.
    pub(super) fn for_kind<L: Kind>(&self, objects: Store<L>, workers: u16) -> Context<L> {
        Context {
            client: self.client.clone(),
            images: Arc::clone(&self.images),
            objects,
            secrets: self.secrets.clone(),
            leads: self.leads.clone(),
            events: self.events.clone(),
            metrics: self.metrics.clone(),
            audit: self.audit.clone(),
            readiness: Readiness::default(),
            retries: Retries::new(workers),
            stale: StaleVersions::default(),
            contention: Arc::clone(&self.contention),
            failing: Arc::clone(&self.failing),
            owner_permission: Arc::clone(&self.owner_permission),
            memory: L::Memory::default(),
        }
    }

    /// Whether this replica holds the Lease, and so writes.
    pub(super) fn leads(&self) -> bool {
        *self.leads.borrow()
    }

    /// Whether dayone may write, based on what it knows of the object. After its own write, it waits for the event.
    pub(super) fn may_write(&self, object: &K, owner: &str) -> bool {
        self.leads() && !self.stale.contains(owner, object.version())
    }

    /// How long to wait for a write for this object. After that, the write may still be carried out: the next attempt reads the object or
    /// the Secret again, or the API server refuses the attempt as a conflict.
    pub(super) fn write_limit(&self, owner: &str) -> Duration {
        if self.retries.is_slow(owner) { REQUEST } else { FIRST_WRITE }
    }

    /// Applies a merge patch to the object, or to a subresource. Returns the object with the changes. If it is gone, there is
    /// nothing left to write, and that is no error.
    pub(super) async fn patch(
        &self,
        object: &K,
        owner: &str,
        (doing, subresource): (&str, Option<&str>),
        patch: Value,
    ) -> Result<Option<K>, RequestError> {
        let api: Api<K> = Api::namespaced(self.client.clone(), object.namespace());
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
        let (name, limit) = (object.name(), self.write_limit(owner));
        let answer = match subresource {
            None => request_within(limit, doing, api.patch(name, &parameters, &patch)).await,
            Some(part) => request_within(limit, doing, api.patch_subresource(part, name, &parameters, &patch)).await,
        };
        match answer {
            Ok(answer) => {
                self.stale.note(owner, object.version(), answer.version());
                Ok(Some(answer))
            }
            Err(error) if error.is_gone() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns for how long to leave the object to another controller, which replaces what dayone writes. `goal` is the digest
    /// of what dayone wants, and `present` that of what the object has.
    pub(super) fn stand_back(&self, object: &K, owner: &str, goal: Digest, present: Digest) -> Option<Duration> {
        let decision = self.contention.decide(owner, goal, present, Instant::now());
        let Decision::StandBack { first, again } = decision else { return None };
        if first {
            let event = ObjectEvent::warning("AnotherController", ANOTHER_CONTROLLER);
            self.events.publish(object, &[event]);
        }
        Some(again)
    }

    /// Reports that the URL of an object stops answering, although dayone must not change the URL. A replica that does not lead only
    /// logs this, because another replica may still serve the image.
    pub(super) fn report_lost(&self, object: &K, lost: &Failure, leads: bool) {
        if leads {
            self.metrics.failed(lost.reason);
            // No condition has the message.
            self.events.separate().publish(object, &[ObjectEvent::warning(lost.reason, &lost.message)]);
        } else {
            let (kind, namespace, name) = (K::kind(&()), object.namespace(), object.name());
            tracing::warn!(%kind, namespace, name, reason = lost.reason, "{}", lost.message);
        }
    }

    /// Whether the object has been deleted by now, even if there is a new one of the same name.
    pub(super) fn is_gone(&self, object: &K) -> bool {
        let now = self.objects.get(&ObjectRef::from_obj(object));
        now.is_none_or(|now| now.meta().uid != object.meta().uid)
    }

    /// Discards the image of an object that is deleted.
    pub(super) fn discard(&self, object: &K, owner: &str) {
        let image = self.images.discard(owner);
        // All replicas discard it, and one of them records that.
        if let (Some(image), true) = (image, self.leads()) {
            let event = Event::ImageDeleted { image: image.to_string(), host: Some(object.name().to_owned()) };
            self.audit.record(who(object), event);
        }
    }

    /// Records that an object has got the URL of an image.
    pub(super) fn record_order(&self, object: &K, image: &PublishedImage) {
        if let Some(id) = &image.id {
            let event = Event::ImageOrdered {
                image: id.to_string(),
                host: Some(object.name().to_owned()),
                base: image.base.as_ref().map(ToString::to_string),
                new: true,
            };
            self.audit.record(who(object), event);
        }
    }

    /// Forgets a deleted object, and discards its image.
    pub(super) fn forget(&self, object: &K, owner: &str) {
        self.discard(object, owner);
        self.readiness.seen(owner);
        self.retries.forget(owner);
        self.stale.0.lock().remove(owner);
        self.contention.forget(owner);
        self.failing.note(owner, None);
        self.failing.stuck(owner, false);
        self.memory.forget(owner);
        for secret in object.secrets() {
            self.contention.forget(&key_of_secret(&K::kind(&()), object.namespace(), secret));
        }
    }
}

/// Whoever made this object.
fn who<K: Kind>(object: &K) -> Who {
    Who::object(&K::kind(&()), object.namespace(), object.name())
}

/// By owner, the resourceVersion that dayone's last write replaced. An object that still has this version is stale.
#[derive(Debug, Default)]
pub(super) struct StaleVersions(Mutex<HashMap<String, String>>);

impl StaleVersions {
    fn note(&self, owner: &str, before: &str, after: &str) {
        // A patch that changed nothing causes no event.
        if after != before {
            self.0.lock().insert(owner.to_owned(), before.to_owned());
        }
    }

    fn contains(&self, owner: &str, version: &str) -> bool {
        let mut versions = self.0.lock();
        let stale = versions.get(owner).is_some_and(|before| before == version);
        if !stale {
            versions.remove(owner);
        }
        stale
    }
}
