//! What looking at objects of one kind needs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client};
use tokio::sync::watch;

use super::events::Announcer;
use super::kind::{Kind, Memory as _};
use super::metrics::KubernetesMetrics;
use super::owners::Owners;
use super::problem::RequestError;
use super::provider::ImageProvider;
use super::readiness::Readiness;
use super::retries::Retries;
use super::rivals::Rivals;

/// All that looking at objects of one kind needs.
pub(super) struct Context<K: Kind> {
    pub(super) client: Client,
    pub(super) images: Arc<dyn ImageProvider>,
    pub(super) objects: Store<K>,
    pub(super) secrets: Store<Secret>,
    pub(super) leads: watch::Receiver<bool>,
    pub(super) events: Announcer,
    pub(super) metrics: KubernetesMetrics,
    pub(super) readiness: Readiness,
    pub(super) retries: Retries,
    pub(super) written: Written,
    pub(super) rivals: Rivals,
    pub(super) owners: Arc<Owners>,
    pub(super) memory: K::Memory,
}

impl<K: Kind> Context<K> {
    /// The same for the objects of another kind.
    pub(super) fn beside<L: Kind>(&self, objects: Store<L>) -> Context<L> {
        Context {
            client: self.client.clone(),
            images: Arc::clone(&self.images),
            objects,
            secrets: self.secrets.clone(),
            leads: self.leads.clone(),
            events: self.events.clone(),
            metrics: self.metrics.clone(),
            readiness: Readiness::default(),
            retries: Retries::default(),
            written: Written::default(),
            rivals: Rivals::default(),
            owners: Arc::clone(&self.owners),
            memory: L::Memory::default(),
        }
    }

    /// Whether this replica writes.
    pub(super) fn leads(&self) -> bool {
        *self.leads.borrow()
    }

    /// Whether to write upon what is known of the object. After a write, its event comes.
    pub(super) fn may_write(&self, object: &K, owner: &str) -> bool {
        self.leads() && !self.written.is_older(owner, object.version())
    }

    /// Notes what a write came to. That the object is gone is as good.
    pub(super) fn wrote(&self, answer: Result<K, RequestError>, object: &K, owner: &str) -> Result<bool, RequestError> {
        match answer {
            Ok(answer) => {
                self.written.note(owner, object.version(), answer.version());
                Ok(true)
            }
            Err(error) if error.is_gone() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the object is gone by now, though it may be there anew.
    pub(super) fn is_gone(&self, object: &K) -> bool {
        let now = self.objects.get(&ObjectRef::from_obj(object));
        now.is_none_or(|now| now.meta().uid != object.meta().uid)
    }

    /// Forgets an object that is gone, and takes its image back.
    pub(super) fn gone(&self, owner: &str) {
        self.images.discard(owner);
        self.readiness.seen(owner);
        self.retries.forget(owner);
        self.written.forget(owner);
        self.rivals.forget(owner);
        self.memory.forget(owner);
    }

    /// The objects of the namespace that this one is in.
    pub(super) fn api(&self, object: &K) -> Api<K> {
        Api::namespaced(self.client.clone(), object.namespace())
    }
}

/// The resourceVersions upon which something was written: an object that still has one is older than what was written.
#[derive(Debug, Default)]
pub(super) struct Written(Mutex<HashMap<String, String>>);

impl Written {
    fn note(&self, owner: &str, upon: &str, answer: &str) {
        // A patch that changed nothing brings no event.
        if answer != upon {
            self.lock().insert(owner.to_owned(), upon.to_owned());
        }
    }

    fn is_older(&self, owner: &str, version: &str) -> bool {
        let mut all = self.lock();
        let older = all.get(owner).is_some_and(|upon| upon == version);
        if !older {
            all.remove(owner);
        }
        older
    }

    fn forget(&self, owner: &str) {
        self.lock().remove(owner);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
