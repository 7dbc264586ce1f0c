//! dayone as a controller in a cluster, and the other end of Metal3's contract: the baremetal-operator. Tests imitate it,
//! because it cannot be built from the registries.

mod agent_bases;
mod history;
mod replica;
mod site;

use serde_json::Value;

pub use self::agent_bases::AgentBases;
pub use self::history::{History, Sighting};
pub use self::replica::{PUBLISHED, Replica, ReplicaSettings};
pub use self::site::{RIGHTS_OF_REPLICAS, RIGHTS_ON_OBJECTS, Site};

/// The finalizer of the controller that makes the image of a PreprovisioningImage.
pub const FINALIZER: &str = "preprovisioningimage.metal3.io";

/// The finalizer of the baremetal-operator, as long as a host may boot from the image.
pub const OPERATOR_FINALIZER: &str = "baremetalhost.metal3.io/preprovisioningImage";

/// Returns a condition of an object, or null.
pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.and_then(|all| all.iter().find(|one| one["type"] == kind)).unwrap_or(&Value::Null)
}

/// Whether a condition's status is `True`.
pub fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind)["status"] == "True"
}

/// Returns the URL of the image in an object's status, or an empty string.
pub fn image_url(object: &Value) -> &str {
    object["status"]["imageUrl"].as_str().unwrap_or_default()
}

/// How the baremetal-operator judges a PreprovisioningImage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The image was made from other inputs: the operator waits, and the BareMetalHost does not show why.
    Mismatch(&'static str),
    /// The BareMetalHost has a registration error with this message.
    Error(String),
    /// The operator waits until the image is ready.
    Waits,
    /// The host boots from the image.
    Accepted,
}

/// Judges an image as the baremetal-operator does, with the same comparisons in the same order (`preprovImageAvailable` in its
/// `internal/controller/metal3.io/baremetalhost_controller.go`). `secret` is the present version of the Secret that the object names.
pub fn verdict(image: &Value, secret: Option<&Value>) -> Verdict {
    let (spec, status) = (&image["spec"], &image["status"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if text(&status["architecture"]) != text(&spec["architecture"]) {
        return Verdict::Mismatch("architecture");
    }
    let formats = spec["acceptFormats"].as_array();
    if !formats.is_some_and(|formats| formats.contains(&status["format"])) {
        return Verdict::Mismatch("format");
    }
    let (wanted, network_data) = (text(&spec["networkDataName"]), &status["networkData"]);
    if !wanted.is_empty() {
        let version = secret.map(|secret| text(&secret["metadata"]["resourceVersion"]));
        if version != Some(text(&network_data["version"])) {
            return Verdict::Mismatch("version of the network data");
        }
    }
    if text(&network_data["name"]) != wanted {
        return Verdict::Mismatch("name of the network data");
    }
    if is_true(image, "Error") {
        return Verdict::Error(text(&condition(image, "Error")["message"]));
    }
    let ready = condition(image, "Ready");
    let observed = ready["observedGeneration"] == image["metadata"]["generation"];
    if is_true(image, "Ready") && observed { Verdict::Accepted } else { Verdict::Waits }
}

/// Whether the baremetal-operator boots a host from a PreprovisioningImage.
pub fn is_acceptable(image: &Value, secret: Option<&Value>) -> bool {
    verdict(image, secret) == Verdict::Accepted
}
