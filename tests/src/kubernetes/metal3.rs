//! Metal3's resources: their definitions, as in `fixtures/metal3`, and the paths of their objects.

use serde_json::Value;

use super::ApiServer;

/// The `apiVersion` of all of Metal3's resources.
pub const API_VERSION: &str = "metal3.io/v1alpha1";

/// The resource of the images that inspect and provision hosts.
pub const PREPROVISIONING_IMAGES: &str = "preprovisioningimages";

/// The resource of hosts.
pub const BARE_METAL_HOSTS: &str = "baremetalhosts";

/// The resource of the ISOs for running hosts.
pub const DATA_IMAGES: &str = "dataimages";

const DEFINITIONS: &[(&str, &str)] = &[
    (PREPROVISIONING_IMAGES, include_str!("../../../fixtures/metal3/preprovisioningimages.yaml")),
    (BARE_METAL_HOSTS, include_str!("../../../fixtures/metal3/baremetalhosts.yaml")),
    (DATA_IMAGES, include_str!("../../../fixtures/metal3/dataimages.yaml")),
];

impl ApiServer {
    /// Installs Metal3's definitions, and returns when their resources are served. Does nothing the second time.
    pub fn install_metal3(&self) {
        for (_, definition) in DEFINITIONS {
            self.admin().apply(definition);
        }
        for (plural, _) in DEFINITIONS {
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.metal3.io");
            self.admin().wait_until(&path, "established", is_established);
            // Established is said a moment before.
            self.admin()
                .wait_until(&format!("/apis/{API_VERSION}/{plural}"), "served", |list| list["items"].is_array());
        }
    }
}

/// Returns the path of a namespace's objects.
pub fn collection(namespace: &str, plural: &str) -> String {
    format!("/apis/{API_VERSION}/namespaces/{namespace}/{plural}")
}

/// Returns the path of an object.
pub fn object(namespace: &str, plural: &str, name: &str) -> String {
    format!("{}/{name}", collection(namespace, plural))
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Established" && one["status"] == "True"))
}
