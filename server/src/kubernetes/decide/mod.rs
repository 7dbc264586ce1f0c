//! Decides what a PreprovisioningImage needs next. Pure: it does no I/O, and reads no clock.
//!
//! The order of the writes is that of upstream's controller, because the baremetal-operator relies on it: nobody may read
//! a URL whose image is gone.

mod conclude;
mod desired;
mod events;
mod secret;
#[cfg(test)]
mod tests;

pub(super) use conclude::{ImageInputs, Outcome, conclude, content, goal, has_image, lost, patch};
pub(super) use desired::{Desired, DesiredImage, Obstacle, desired, finalizers};
pub(super) use events::{ObjectEvent, finding_events, status_events};
pub(super) use secret::{claim, image_inputs, is_labelled, is_object_name, is_owned, label, network_data, reduce};

/// Reasons of the conditions.
pub(super) mod reason {
    pub(in crate::kubernetes) const SUCCESS: &str = "ImageSuccess";
    pub(in crate::kubernetes) const CONFIGURATION: &str = "ConfigurationError";
    pub(in crate::kubernetes) const MISSING_NETWORK_DATA: &str = "MissingNetworkData";
    pub(in crate::kubernetes) const FORBIDDEN: &str = "SecretForbidden";
    pub(in crate::kubernetes) const INVALID: &str = "ImageBuildInvalid";
    /// The object must keep the URL of an image that dayone can no longer make. This reason is in Events, not in conditions.
    pub(in crate::kubernetes) const LOST: &str = "ImageLost";
    /// Requests to the API server, or the making of the image, keep failing. This reason is in Events, not in conditions.
    pub(in crate::kubernetes) const RECONCILIATION: &str = "ReconciliationFailed";
}

/// Types of the conditions.
const READY: &str = "Ready";
pub(super) const ERROR: &str = "Error";

/// Why there is no image, for the conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Failure {
    /// No image can be made from the network data or the kernel arguments.
    pub(super) fn invalid(cause: &str) -> Self {
        Self { reason: reason::INVALID, message: format!("Cannot generate image: {cause}") }
    }

    /// The Secret that the object names does not exist.
    pub(super) fn missing_secret() -> Self {
        Self { reason: reason::MISSING_NETWORK_DATA, message: "NetworkData secret not found".to_owned() }
    }

    /// The API server does not let dayone read or label the Secret.
    pub(super) fn forbidden(message: &str) -> Self {
        Self { reason: reason::FORBIDDEN, message: message.to_owned() }
    }

    /// The object must keep its URL, which is not the URL of the image that dayone makes now.
    pub(super) fn lost(why_kept: &str, field: &str) -> Self {
        let message = format!(
            "the image no longer has the URL in {field}, because a Secret, a setting, a base image or the installation key \
             has changed; {why_kept}, so dayone keeps the URL. dayone serves it for one more hour at most, and not after a \
             restart. Fix: undo the change; after a rotation of the key, let the deletion finish, or end the pause"
        );
        Self { reason: reason::LOST, message }
    }

    fn configuration(message: &str) -> Self {
        Self { reason: reason::CONFIGURATION, message: message.to_owned() }
    }
}
