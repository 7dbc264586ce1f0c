//! Routing rules: a rule is in the profile of an interface, and goes with it when that loses its addresses.

use super::BRIDGE;
use crate::model::{Interface, Rule, Topology};
use crate::network::ConvertedNetwork;
use vocabulary::report::DocumentPath;

/// Returns the rules in the profile of an interface, without their places.
pub(super) fn held_by(interface: &Interface, network: &ConvertedNetwork) -> Vec<Rule> {
    let profiles = network.keyfiles.iter().map(|keyfile| Topology::from_keyfiles(std::slice::from_ref(keyfile), None));
    let own = profiles.filter(|profile| profile.interface(&interface.name).is_some());
    own.flat_map(|profile| profile.rules).map(|rule| without_place(&rule)).collect()
}

/// Returns the rule without its place, for comparisons.
pub(super) fn without_place(rule: &Rule) -> Rule {
    Rule { path: DocumentPath::root(), ..rule.clone() }
}

/// Whether a rule of the second step does what one in the profile of `before` does. They may have different priorities, because
/// nmstate chooses one if a document has none.
pub(super) fn is_same(first: &Rule, second: &Rule, before: &Interface) -> bool {
    let moved = |name: &String| if *name == before.label { BRIDGE.to_owned() } else { name.clone() };
    let wanted = Rule { iif: first.iif.as_ref().map(moved), ..without_place(first) };
    let found = without_place(second);
    Rule { priority: None, ..wanted } == Rule { priority: None, ..found }
}
