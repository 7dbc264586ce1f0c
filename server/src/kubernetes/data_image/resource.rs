//! The custom resource `dataimages.metal3.io/v1alpha1` as the baremetal-operator defines it. dayone does not read its
//! status, which belongs to the baremetal-operator.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use super::memory::Drives;
use crate::kubernetes::kind::{Kind, metal3_resource};
use crate::kubernetes::metrics::KubernetesMetrics;

/// The Secret with the host's network.
pub(super) const NETWORK_DATA: &str = "dayone.metal3.io/network-data";
/// The Secret with the user data.
pub(super) const USER_DATA: &str = "dayone.metal3.io/user-data";
/// The Secret with the meta data.
pub(super) const META_DATA: &str = "dayone.metal3.io/meta-data";
/// The annotations that name Secrets.
const SECRETS: [&str; 3] = [NETWORK_DATA, USER_DATA, META_DATA];

/// A drive for the host of the same name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(in crate::kubernetes) struct DataImage {
    pub(in crate::kubernetes) metadata: ObjectMeta,
    pub(in crate::kubernetes) spec: DataImageSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(in crate::kubernetes) struct DataImageSpec {
    /// The drive that the baremetal-operator attaches the next time the host is switched on.
    pub(in crate::kubernetes) url: String,
}

impl DataImage {
    /// The value of an annotation, unless it is empty.
    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        let value = self.metadata.annotations.as_ref()?.get(name)?;
        Some(value.trim()).filter(|value| !value.is_empty())
    }
}

metal3_resource!(DataImage, "dataimages");

impl Kind for DataImage {
    type Memory = Drives;

    const FOREIGN_LABEL: Option<&'static str> = None;
    const OPTIONAL: bool = true;

    fn secrets(&self) -> impl Iterator<Item = &str> {
        SECRETS.iter().filter_map(move |annotation| self.annotation(annotation))
    }

    fn count(metrics: &KubernetesMetrics, count: usize) {
        metrics.data_images(count);
    }
}
