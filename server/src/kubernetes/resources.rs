//! The custom resource `preprovisioningimages.metal3.io/v1alpha1` as the baremetal-operator defines it, read so that no
//! object can keep the others from being read: every field may be missing, and values are open strings.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::metrics::KubernetesMetrics;
use super::waiting::Waiting;

/// Holds the object until its image is discarded.
pub const FINALIZER: &str = "preprovisioningimage.metal3.io";
/// Objects with this label, whatever its value, are assisted-service's.
pub const FOREIGN_LABEL: &str = "infraenvs.agent-install.openshift.io";
/// Secrets with this label and value are watched; those that are named by an object get it.
pub const SECRET_LABEL: (&str, &str) = ("environment.metal3.io", "baremetal");
/// Names the stream of base images that a host boots from.
pub const STREAM_LABEL: &str = "coreos.openshift.io/stream";

/// A request for an image that one host is booted from, and the image's address.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreprovisioningImage {
    /// Name, namespace, labels, finalizers.
    pub metadata: ObjectMeta,
    /// What is asked for.
    pub spec: PreprovisioningImageSpec,
    /// What came of it.
    pub status: PreprovisioningImageStatus,
}

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreprovisioningImageSpec {
    /// A Secret in the same namespace; empty for none.
    pub network_data_name: String,
    /// `x86_64`, `aarch64`; empty for that of the process.
    pub architecture: String,
    /// `iso`, `initrd`: the first that can be made is taken.
    pub accept_formats: Vec<String>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreprovisioningImageStatus {
    /// Where the image is; empty where there is none.
    pub image_url: String,
    /// Where its kernel is, for an initramfs.
    pub kernel_url: String,
    /// What its kernel is to be started with, for an initramfs.
    pub extra_kernel_params: String,
    /// `iso` or `initrd`.
    pub format: String,
    /// As it was asked for.
    pub architecture: String,
    /// The Secret that the image was made of.
    pub network_data: NetworkDataStatus,
    /// `Ready`, `Error`, and what others add.
    pub conditions: Vec<Condition>,
}

/// The Secret that an image was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkDataStatus {
    /// Its name.
    pub name: String,
    /// Its resourceVersion.
    pub version: String,
}

/// A condition, as `metav1.Condition`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The generation of the object that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When `status` changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
}

impl Resource for PreprovisioningImage {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "PreprovisioningImage".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "metal3.io".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1alpha1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "preprovisioningimages".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl PreprovisioningImage {
    /// The condition of this kind.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Its finalizers.
    pub fn finalizers(&self) -> &[String] {
        self.metadata.finalizers.as_deref().unwrap_or_default()
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(name).map(String::as_str)
    }

    /// A reference for what belongs to it, beside other owners.
    pub fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: Self::api_version(&()).into_owned(),
            kind: Self::kind(&()).into_owned(),
            name: self.name().to_owned(),
            uid: self.metadata.uid.clone().unwrap_or_default(),
            ..OwnerReference::default()
        }
    }
}

impl Kind for PreprovisioningImage {
    type Memory = Waiting;

    const FOREIGN_LABEL: Option<&'static str> = Some(FOREIGN_LABEL);
    const OPTIONAL: bool = false;

    fn uses(&self, secret: &Secret) -> bool {
        secret.metadata.name.as_deref() == Some(&self.spec.network_data_name)
            || secret
                .metadata
                .owner_references
                .iter()
                .flatten()
                .any(|owner| Some(&owner.uid) == self.metadata.uid.as_ref())
    }

    fn count(metrics: &KubernetesMetrics, count: usize) {
        metrics.objects(count);
    }
}

impl Condition {
    /// Whether its status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> PreprovisioningImage {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn an_object_without_spec_and_one_with_unknown_values_are_read() {
        let bare =
            parse(r#"{"apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage", "metadata": {"name": "a"}}"#);
        assert_eq!(bare.name(), "a");
        assert_eq!(bare.spec, PreprovisioningImageSpec::default());
        let strange = parse(
            r#"{"metadata": {"name": "b"}, "spec": {"acceptFormats": ["floppy"], "later": 1},
                "status": {"format": "tape", "conditions": [{"type": "Cooking", "status": "Perhaps"}]}}"#,
        );
        assert_eq!(strange.spec.accept_formats, ["floppy"]);
        assert_eq!(strange.status.format, "tape");
        assert_eq!(strange.condition("Cooking").unwrap().status, "Perhaps");
        assert!(strange.condition("Ready").is_none());
    }

    #[test]
    fn fields_have_the_names_of_the_custom_resource_definition() {
        let object = parse(
            r#"{"metadata": {"namespace": "n", "name": "a", "uid": "u"},
                "spec": {"networkDataName": "s", "architecture": "x86_64", "acceptFormats": ["iso", "initrd"]},
                "status": {"imageUrl": "i", "kernelUrl": "k", "extraKernelParams": "e", "format": "iso",
                    "architecture": "x86_64", "networkData": {"name": "s", "version": "7"},
                    "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 3,
                        "lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "ImageSuccess", "message": "m"}]}}"#,
        );
        assert_eq!(object.owner(), "PreprovisioningImage/n/a/u");
        assert_eq!(object.spec.network_data_name, "s");
        assert_eq!(object.status.network_data.version, "7");
        let written = serde_json::to_value(&object.status).unwrap();
        for field in
            ["imageUrl", "kernelUrl", "extraKernelParams", "format", "architecture", "networkData", "conditions"]
        {
            assert!(written.get(field).is_some(), "{field}");
        }
        let condition = written.pointer("/conditions/0").unwrap();
        assert_eq!(condition.get("type").unwrap(), "Ready");
        assert_eq!(condition.get("observedGeneration").unwrap(), 3);
        assert_eq!(condition.get("lastTransitionTime").unwrap(), "2026-01-02T03:04:05Z");
    }
}
