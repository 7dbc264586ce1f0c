//! HPE's property of a slot, by which the host boots from the slot's medium at its next reset, whatever the boot override is.

use serde_json::{Value, json};

/// Reads the property of a slot. `None` if the slot has none.
pub(super) fn read(slot: &Value) -> Option<bool> {
    slot.pointer("/Oem/Hpe/BootOnNextServerReset")?.as_bool()
}

/// The body that sets the property.
pub(super) fn body(on: bool) -> Value {
    json!({"Oem": {"Hpe": {"BootOnNextServerReset": on}}})
}
