//! Whether a machine verifies what it boots (schema `SecureBoot` 1.1).

use serde::{Deserialize, Serialize};

use super::Bmc;
use super::error::BmcError;
use super::properties::Properties;
use super::survey::System;

/// UEFI Secure Boot of a machine, as its BMC reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecureBoot {
    /// `SecureBootEnable`: whether it is on at the next boot.
    pub enable: Option<bool>,
    /// `SecureBootCurrentBoot`: whether it was on at the last boot.
    pub current: Option<bool>,
    /// `SecureBootMode`, such as `UserMode` or `SetupMode`.
    pub mode: Option<String>,
}

impl SecureBoot {
    fn read(resource: Properties<'_>) -> Self {
        let current = resource.text("SecureBootCurrentBoot");
        let current = current.and_then(|text| match text.as_str() {
            "Enabled" => Some(true),
            "Disabled" => Some(false),
            _ => None,
        });
        Self { enable: resource.flag("SecureBootEnable"), current, mode: resource.text("SecureBootMode") }
    }

    /// Whether the machine verifies what it boots next. `None` if the BMC does not say so.
    ///
    /// A machine without a platform key is in `SetupMode` and verifies nothing; in `AuditMode` it starts what it does not trust
    /// as well (UEFI 2.10 §32.3).
    pub fn is_on(&self) -> Option<bool> {
        if matches!(self.mode.as_deref(), Some("SetupMode" | "AuditMode")) {
            return Some(false);
        }
        self.enable.or(self.current)
    }
}

impl Bmc {
    /// Reads whether the machine verifies what it boots. `None` if the BMC has no such resource. Sends one request.
    pub async fn secure_boot(&self, system: &System) -> Result<Option<SecureBoot>, BmcError> {
        let Some(path) = &system.secure_boot else { return Ok(None) };
        let body = self.client().get(path).await?.body;
        self.masked(Ok(Some(SecureBoot::read(Properties::new(&body)))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_counts_is_the_next_boot_and_whether_there_is_a_platform_key() {
        let is_on = |resource| SecureBoot::read(Properties::new(&resource)).is_on();
        for (resource, expected) in [
            (json!({}), None),
            (json!({"SecureBootEnable": null, "SecureBootCurrentBoot": "Enabled"}), Some(true)),
            (json!({"SecureBootEnable": true, "SecureBootCurrentBoot": "Disabled"}), Some(true)),
            (json!({"SecureBootEnable": false, "SecureBootCurrentBoot": "Enabled"}), Some(false)),
            (json!({"SecureBootEnable": true, "SecureBootMode": "UserMode"}), Some(true)),
            (json!({"SecureBootEnable": true, "SecureBootMode": "DeployedMode"}), Some(true)),
            (json!({"SecureBootEnable": true, "SecureBootMode": "SetupMode"}), Some(false)),
            (json!({"SecureBootEnable": true, "SecureBootMode": "AuditMode"}), Some(false)),
            (json!({"SecureBootEnable": "true", "SecureBootCurrentBoot": 1}), None),
        ] {
            assert_eq!(is_on(resource.clone()), expected, "{resource}");
        }
    }
}
