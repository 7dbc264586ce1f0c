//! The custom resource `preprovisioningimages.metal3.io/v1alpha1` as the baremetal-operator defines it. Every field may be
//! missing, and values are open strings: otherwise one object that cannot be read would hide all others.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource as _;
use serde::{Deserialize, Serialize};

use super::kind::{Kind, metal3_resource};
use super::metrics::KubernetesMetrics;
use super::unready::Unready;

/// Keeps the object until dayone has discarded its image.
pub const FINALIZER: &str = "preprovisioningimage.metal3.io";
/// Objects with this label, with any value, belong to assisted-service.
pub const FOREIGN_LABEL: &str = "infraenvs.agent-install.openshift.io";
/// dayone watches Secrets with this label and value, and adds it to the Secrets that objects name.
pub const SECRET_LABEL: (&str, &str) = ("environment.metal3.io", "baremetal");
/// Names the stream of base images that a host boots from.
pub const STREAM_LABEL: &str = "coreos.openshift.io/stream";

/// A request for the image that one host boots from, and the image's URL.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreprovisioningImage {
    /// Name, namespace, labels, finalizers.
    pub metadata: ObjectMeta,
    /// The requested image.
    pub spec: PreprovisioningImageSpec,
    /// The result.
    pub status: PreprovisioningImageStatus,
}

/// The requested image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreprovisioningImageSpec {
    /// The name of a Secret in the same namespace, or empty.
    pub network_data_name: String,
    /// `x86_64` or `aarch64`; empty for the architecture that dayone runs on.
    pub architecture: String,
    /// `iso`, `initrd`: dayone takes the first one that it supports.
    pub accept_formats: Vec<String>,
}

/// The result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PreprovisioningImageStatus {
    /// The URL of the image; empty if there is none.
    pub image_url: String,
    /// For an initramfs: the URL of its kernel.
    pub kernel_url: String,
    /// For an initramfs: additional arguments for its kernel.
    pub extra_kernel_params: String,
    /// `iso` or `initrd`.
    pub format: String,
    /// As in the spec.
    pub architecture: String,
    /// The Secret with the image's network data.
    pub network_data: NetworkDataStatus,
    /// `Ready`, `Error`, and the conditions of other controllers.
    pub conditions: Vec<Condition>,
}

/// The Secret with an image's network data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkDataStatus {
    /// Its name.
    pub name: String,
    /// Its resourceVersion.
    pub version: String,
}

/// A condition (`metav1.Condition`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    /// The type, such as `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The generation of the object that the condition is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The time of the last change of `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// The reason, in one word.
    pub reason: String,
    /// The reason, in a sentence.
    pub message: String,
}

metal3_resource!(PreprovisioningImage, "preprovisioningimages");

impl PreprovisioningImageStatus {
    /// The condition of this type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

impl PreprovisioningImage {
    /// Its finalizers.
    pub fn finalizers(&self) -> &[String] {
        self.metadata.finalizers.as_deref().unwrap_or_default()
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(name).map(String::as_str)
    }

    /// A reference by which other objects name this one as one of their owners.
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
    type Memory = Unready;

    const FOREIGN_LABEL: Option<&'static str> = Some(FOREIGN_LABEL);
    const OPTIONAL: bool = false;

    fn secrets(&self) -> impl Iterator<Item = &str> {
        Some(self.spec.network_data_name.as_str()).filter(|name| !name.is_empty()).into_iter()
    }

    fn uses(&self, secret: &Secret) -> bool {
        let mut owners = secret.metadata.owner_references.iter().flatten();
        secret.metadata.name.as_deref() == Some(&self.spec.network_data_name)
            || owners.any(|owner| Some(&owner.uid) == self.metadata.uid.as_ref())
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
        assert_eq!(strange.status.condition("Cooking").unwrap().status, "Perhaps");
        assert!(strange.status.condition("Ready").is_none());
    }

    #[test]
    fn objects_in_memory_have_only_the_annotations_that_dayone_reads() {
        let mut object = parse(
            r#"{"metadata": {"name": "a", "managedFields": [{"manager": "m"}], "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}", "example.com/large": "x",
                "dayone.metal3.io/kernel-arguments": "a=b", "baremetalhost.metal3.io/paused": ""}}}"#,
        );
        object.reduce();
        let kept: Vec<&str> = object.metadata.annotations.iter().flatten().map(|(name, _)| name.as_str()).collect();
        assert_eq!(kept, ["baremetalhost.metal3.io/paused", "dayone.metal3.io/kernel-arguments"]);
        assert!(object.metadata.managed_fields.is_none());
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
