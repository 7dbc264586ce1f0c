//! What the kinds of objects that images are made for have in common.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use kube::Resource;
use serde::de::DeserializeOwned;

use super::metrics::KubernetesMetrics;

/// A kind of objects that images are made for.
pub(super) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + Default
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// What is remembered of objects beside themselves.
    type Memory: Memory;

    /// Objects with this label, whatever its value, are somebody else's.
    const FOREIGN_LABEL: Option<&'static str>;

    /// Whether a cluster may do without: then the API server does not know them, or this is not their controller's role.
    const OPTIONAL: bool;

    /// Whether its image may depend on this Secret, which is in its namespace.
    fn uses(&self, secret: &Secret) -> bool;

    /// Tells how many there are.
    fn count(metrics: &KubernetesMetrics, count: usize);

    /// Its name, which is that of its BareMetalHost.
    fn name(&self) -> &str {
        self.meta().name.as_deref().unwrap_or_default()
    }

    /// Its namespace.
    fn namespace(&self) -> &str {
        self.meta().namespace.as_deref().unwrap_or_default()
    }

    /// What it is known by until it is written to.
    fn version(&self) -> &str {
        self.meta().resource_version.as_deref().unwrap_or_default()
    }

    /// Whom its image belongs to. An object that is deleted and made again has another image, so its UID is part.
    fn owner(&self) -> String {
        let uid = self.meta().uid.as_deref().unwrap_or_default();
        format!("{}/{}/{}/{uid}", Self::kind(&()), self.namespace(), self.name())
    }

    /// Whether an owner is of this kind.
    fn is_owner(owner: &str) -> bool {
        owner.split_once('/').is_some_and(|(kind, _)| kind == Self::kind(&()))
    }

    /// Whether it is to go once its finalizers are gone.
    fn is_deleting(&self) -> bool {
        self.meta().deletion_timestamp.is_some()
    }

    /// Takes out what nothing here reads, before the object is kept in memory.
    fn reduce(&mut self) {
        self.meta_mut().managed_fields = None;
        if let Some(annotations) = &mut self.meta_mut().annotations {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
}

/// What is remembered of objects, by their owners' names.
pub(super) trait Memory: Default + Send + Sync + 'static {
    /// The object is gone.
    fn forget(&self, owner: &str);

    /// Whether the object was looked at, and its image is still to come in a moment.
    fn is_waiting(&self, _owner: &str) -> bool {
        false
    }
}
