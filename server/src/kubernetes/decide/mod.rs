//! What a PreprovisioningImage needs next: no I/O, no clock, nothing but what is given.
//!
//! The order of the writes is that of the baremetal-operator's own controller, since its consumers rely on it: nobody
//! may read a URL whose image is gone.

mod asked;
mod conclude;
mod secret;
mod tell;
#[cfg(test)]
mod tests;

pub(super) use asked::{Asked, Wanted, asked, finalizers};
pub(super) use conclude::{Outcome, conclude, patch};
pub(super) use secret::{claim, is_labelled, is_object_name, is_owned, label, made_of, network_data, reduce};
pub(super) use tell::{Told, bounded, findings, told};

/// Reasons of the conditions.
pub(super) mod reason {
    pub(in crate::kubernetes) const SUCCESS: &str = "ImageSuccess";
    pub(in crate::kubernetes) const CONFIGURATION: &str = "ConfigurationError";
    pub(in crate::kubernetes) const MISSING_NETWORK_DATA: &str = "MissingNetworkData";
    pub(in crate::kubernetes) const FORBIDDEN: &str = "SecretForbidden";
    pub(in crate::kubernetes) const INVALID: &str = "ImageBuildInvalid";
}

/// Kinds of conditions.
const READY: &str = "Ready";
const ERROR: &str = "Error";

/// Why there is no image, as it goes into the conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Failure {
    /// It cannot be made of what is given.
    pub(super) fn invalid(cause: &str) -> Self {
        Self { reason: reason::INVALID, message: format!("Cannot generate image: {cause}") }
    }

    /// The Secret that is named is not there.
    pub(super) fn missing_secret() -> Self {
        Self { reason: reason::MISSING_NETWORK_DATA, message: "NetworkData secret not found".to_owned() }
    }

    /// The API server refuses what dayone has to do with the Secret.
    pub(super) fn forbidden(message: &str) -> Self {
        Self { reason: reason::FORBIDDEN, message: message.to_owned() }
    }

    fn configuration(message: &str) -> Self {
        Self { reason: reason::CONFIGURATION, message: message.to_owned() }
    }
}
