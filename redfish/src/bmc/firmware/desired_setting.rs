//! What the settings of a firmware should be, and which of them change for that.

use serde_json::{Map, Value};

use super::error::FirmwareError;
use super::settings::{Change, NewValue};

/// What a setting should be.
pub(super) struct DesiredSetting {
    attribute: &'static str,
    value: NewValue,
    /// Whether a firmware without this attribute cannot boot as wanted.
    is_needed: bool,
}

impl DesiredSetting {
    pub(super) fn needed(attribute: &'static str, value: NewValue) -> Self {
        Self { attribute, value, is_needed: true }
    }

    pub(super) fn if_there(attribute: &'static str, value: NewValue) -> Self {
        Self { attribute, value, is_needed: false }
    }
}

/// DHCP for a firmware that has no static address: it is the only way then. A static address that the site has set stays.
pub(super) fn dhcp_if_needed(
    current: &Map<String, Value>,
    address: &str,
    dhcp: &'static str,
) -> Option<DesiredSetting> {
    let address = current.get(address).and_then(Value::as_str);
    let is_unset = address.is_none_or(|address| address.is_empty() || address == "0.0.0.0");
    is_unset.then(|| DesiredSetting::if_there(dhcp, NewValue::Value("Enabled".into())))
}

/// The changes that make the settings as desired.
pub(super) fn changes(
    current: &Map<String, Value>,
    image_url: &str,
    desired: Vec<DesiredSetting>,
) -> Result<Vec<Change>, FirmwareError> {
    let mut changes = Vec::new();
    for DesiredSetting { attribute, value, is_needed } in desired {
        match current.get(attribute) {
            None if is_needed => return Err(FirmwareError::Missing { attribute: attribute.to_owned() }),
            Some(before) if *before != value.with(image_url) => {
                changes.push(Change { attribute: attribute.to_owned(), before: before.clone(), set: value });
            }
            _ => {}
        }
    }
    Ok(changes)
}
