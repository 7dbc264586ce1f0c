//! The custom resource `dataimages.metal3.io/v1alpha1` as the baremetal-operator defines it. Its status is the
//! baremetal-operator's, and of no concern here.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;

use super::annotations::SECRETS;
use super::memory::Drives;
use crate::kubernetes::kind::Kind;
use crate::kubernetes::metrics::KubernetesMetrics;

/// A drive for the host of the same name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(in crate::kubernetes) struct DataImage {
    /// Name, namespace, annotations.
    pub(in crate::kubernetes) metadata: ObjectMeta,
    /// Where the drive is.
    pub(in crate::kubernetes) spec: DataImageSpec,
}

/// Where a drive is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(in crate::kubernetes) struct DataImageSpec {
    /// What is attached to the host when it is switched on the next time.
    pub(in crate::kubernetes) url: String,
}

impl DataImage {
    /// The value of an annotation that is not empty.
    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        let value = self.metadata.annotations.as_ref()?.get(name)?;
        Some(value.trim()).filter(|value| !value.is_empty())
    }
}

impl Resource for DataImage {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "DataImage".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "metal3.io".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1alpha1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "dataimages".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Kind for DataImage {
    type Memory = Drives;

    const FOREIGN_LABEL: Option<&'static str> = None;
    const OPTIONAL: bool = true;

    fn uses(&self, secret: &Secret) -> bool {
        SECRETS.iter().any(|annotation| self.annotation(annotation) == secret.metadata.name.as_deref())
    }

    fn count(metrics: &KubernetesMetrics, count: usize) {
        metrics.data_images(count);
    }
}
