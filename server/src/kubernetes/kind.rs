//! What the kinds of objects that dayone makes images for have in common.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use kube::Resource;
use serde::de::DeserializeOwned;

use super::metrics::KubernetesMetrics;

/// The beginnings of the names of all annotations that dayone reads.
const ANNOTATIONS: [&str; 2] = ["dayone.metal3.io/", "baremetalhost.metal3.io/paused"];

/// A kind of objects that dayone makes images for.
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
    /// What dayone remembers of objects beside the objects themselves.
    type Memory: Memory;

    /// dayone ignores objects that have this label, with any value.
    const FOREIGN_LABEL: Option<&'static str>;

    /// Whether the controller works without this kind: the API server may not know it, or the service account may have no
    /// right to it.
    const OPTIONAL: bool;

    /// The names of the Secrets that the object's image depends on. They are in the same namespace.
    fn secrets(&self) -> impl Iterator<Item = &str>;

    /// Whether the object's image may depend on this Secret, which is in the same namespace.
    fn uses(&self, secret: &Secret) -> bool {
        self.secrets().any(|name| Some(name) == secret.metadata.name.as_deref())
    }

    /// Sets the metric for the number of known objects.
    fn count(metrics: &KubernetesMetrics, count: usize);

    /// The object's name, which is also the name of its BareMetalHost.
    fn name(&self) -> &str {
        self.meta().name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        self.meta().namespace.as_deref().unwrap_or_default()
    }

    /// The resourceVersion.
    fn version(&self) -> &str {
        self.meta().resource_version.as_deref().unwrap_or_default()
    }

    /// The owner of the object's image in the store. It contains the UID, because an object that is deleted and created
    /// again gets a new image.
    fn owner(&self) -> String {
        let uid = self.meta().uid.as_deref().unwrap_or_default();
        format!("{}/{}/{}/{uid}", Self::kind(&()), self.namespace(), self.name())
    }

    /// Whether an owner is an object of this kind.
    fn is_owner(owner: &str) -> bool {
        owner.split_once('/').is_some_and(|(kind, _)| kind == Self::kind(&()))
    }

    /// Whether the object is being deleted.
    fn is_deleting(&self) -> bool {
        self.meta().deletion_timestamp.is_some()
    }

    /// Removes what dayone does not read, before it keeps the object in memory.
    fn reduce(&mut self) {
        self.meta_mut().managed_fields = None;
        if let Some(annotations) = &mut self.meta_mut().annotations {
            annotations.retain(|name, _| ANNOTATIONS.iter().any(|prefix| name.starts_with(prefix)));
        }
    }
}

/// What dayone remembers of objects, by owner.
pub(super) trait Memory: Default + Send + Sync + 'static {
    /// Forgets a deleted object.
    fn forget(&self, owner: &str);

    /// Whether the object was reconciled, but its image will be ready only in a moment.
    fn is_waiting(&self, _owner: &str) -> bool {
        false
    }
}

/// Implements [`Resource`] for a struct with the field `metadata` that is an object of `metal3.io/v1alpha1`.
macro_rules! metal3_resource {
    ($kind:ident, $plural:literal) => {
        impl kube::Resource for $kind {
            type DynamicType = ();
            type Scope = k8s_openapi::NamespaceResourceScope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($kind).into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                "metal3.io".into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                "v1alpha1".into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(super) use metal3_resource;
