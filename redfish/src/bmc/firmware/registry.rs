//! What a BMC's registry says about attributes (schema `AttributeRegistry` 1.3).

use serde_json::Value;

use super::error::FirmwareError;
use super::settings::{Change, NewValue};
use super::{dell, hpe};
use crate::bmc::properties::clean;

/// Refuses what the registry says that the firmware will not take. What it does not list is left to the BMC.
pub(super) fn check(registry: &Value, changes: &[Change], image_url: &str) -> Result<(), FirmwareError> {
    for change in changes {
        let Some(entry) = entry(registry, &change.attribute) else { continue };
        let attribute = || change.attribute.clone();
        if entry.get("ReadOnly").and_then(Value::as_bool) == Some(true) && !is_unlocked(&change.attribute, changes) {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).map(clean).filter(|text| !text.is_empty());
            let reason = text("WarningText");
            return Err(FirmwareError::ReadOnly { attribute: attribute(), reason });
        }
        match (&change.set, entry.get("Type").and_then(Value::as_str)) {
            (NewValue::Url, _) => {
                let longest = entry.get("MaxLength").and_then(Value::as_u64).filter(|longest| *longest > 0);
                let length = image_url.chars().count();
                if let Some(longest) = longest.filter(|longest| u64::try_from(length).is_ok_and(|it| it > *longest)) {
                    return Err(FirmwareError::UrlTooLong { attribute: attribute(), length, longest });
                }
            }
            (NewValue::Value(Value::String(value)), Some("Enumeration")) => {
                let offered = values(entry);
                if !offered.is_empty() && !offered.contains(value) {
                    return Err(FirmwareError::Value { attribute: attribute(), value: value.clone(), offered });
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether another change makes this attribute writable: it is read-only only because of that other attribute's present value.
fn is_unlocked(attribute: &str, changes: &[Change]) -> bool {
    let changes_it = |parent: &str| changes.iter().any(|change| change.attribute == parent);
    dell::parents(attribute).iter().chain(hpe::parents(attribute)).any(|parent| changes_it(parent))
}

fn entry<'a>(registry: &'a Value, attribute: &str) -> Option<&'a Value> {
    let entries = registry.pointer("/RegistryEntries/Attributes")?.as_array()?;
    entries.iter().find(|entry| entry.get("AttributeName").and_then(Value::as_str) == Some(attribute))
}

fn values(entry: &Value) -> Vec<String> {
    let values = entry.get("Value").and_then(Value::as_array).into_iter().flatten();
    values.filter_map(|value| value.get("ValueName")?.as_str()).map(clean).collect()
}
