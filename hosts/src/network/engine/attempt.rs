//! One call of the nmstate crate.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nmstate::NetworkState;
use serde::Deserialize;
use serde_yaml::Value;

use crate::nmstate_document::{elements, ports, text};

/// What nmstate says between a port and two of its controllers.
const OVERBOOKED: &str = " is overbooked by two controller: ";

/// What nmstate says about a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not of the schema.
    Schema(String),
    /// No profiles can be made of it.
    Generation(String),
    /// It panicked, which is a defect of the crate.
    Panic,
}

/// The profiles that nmstate makes of a document: file name as it gives it, and content, nothing escaped.
pub(super) fn generate(document: &Value) -> Result<Vec<(String, String)>, Refusal> {
    let generate = || {
        let state = NetworkState::deserialize(document).map_err(|error| Refusal::Schema(error.to_string()))?;
        let mut files = state.gen_conf().map_err(|error| Refusal::Generation(steady(error.msg(), document)))?;
        Ok(files.remove("NetworkManager").unwrap_or_default())
    };
    catch_unwind(AssertUnwindSafe(generate)).unwrap_or(Err(Refusal::Panic))
}

/// Returns nmstate's message about a document, the same in each run. nmstate goes through controllers in random order, so of the ports
/// that several controllers list, it names any, and any two of the controllers. Here, it is the first in the document.
fn steady(message: &str, document: &Value) -> String {
    if !message.contains(OVERBOOKED) {
        return message.to_owned();
    }
    let entries = document.as_mapping().map_or(&[][..], |document| elements(document, &["interfaces"]));
    let mut controllers = BTreeMap::new();
    for entry in entries
        .iter()
        .filter_map(Value::as_mapping)
        .filter(|entry| text(entry, "state").is_none_or(|state| state == "up"))
    {
        let controller = text(entry, "name").unwrap_or_default();
        for port in ports::names(entry) {
            if let Some(first) = controllers.insert(port, controller) {
                return format!("Port {port}{OVERBOOKED}{controller}, {first}");
            }
        }
    }
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_controllers_of_a_port_the_first_two_are_named() {
        let bond = |name: &str| {
            format!("{{name: {name}, type: bond, state: up, link-aggregation: {{mode: 802.3ad, port: [p1, p2]}}}}")
        };
        let bonds = ["b3", "b1", "b4", "b2"].map(bond).join(", ");
        let document: Value = serde_yaml::from_str(&format!("interfaces: [{bonds}]")).unwrap();
        for _ in 0..20 {
            let message = "Port p1 is overbooked by two controller: b1, b3".to_owned();
            assert_eq!(generate(&document), Err(Refusal::Generation(message)));
        }
    }
}
