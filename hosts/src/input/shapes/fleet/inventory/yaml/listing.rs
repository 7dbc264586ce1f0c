//! Listings, as `ansible-inventory --list` and inventory scripts print them: groups with lists of hosts and children, and the
//! variables of all hosts in `_meta`.
//!
//! Source: Ansible's developer guide, "Developing dynamic inventory"; compared with `ansible-inventory` in the tests.

use serde_yaml::{Mapping, Value};

use super::{Reader, value_cell};
use crate::input::shapes::fleet::inventory::VAULT;
use crate::input::shapes::fleet::table::Cell;
use crate::input::yaml::invalid::wrong_type;
use vocabulary::report::DocumentPath;

/// The member with the variables of all hosts.
const META: &str = "_meta";
const HOST_VARIABLES: &str = "hostvars";

/// Returns the variables of all hosts, if `document` is a listing. No other inventory has them in one place.
pub(in crate::input) fn host_variables(document: &Mapping) -> Option<&Value> {
    document.get(META)?.get(HOST_VARIABLES).filter(|variables| variables.is_mapping())
}

impl Reader<'_> {
    /// Reads a listing whose hosts have the variables `of_hosts`.
    pub(super) fn listing(&mut self, document: &Mapping, of_hosts: &Value, path: &DocumentPath) {
        let at = path.key(META).key(HOST_VARIABLES);
        for (host, value) in self.members(of_hosts, &at) {
            let at = at.key(host);
            let variables = self.variables(value, &at);
            let result = self.inventory.add_host(host, &variables).map(drop);
            self.check(result, &at);
        }
        for (name, group) in document {
            let Some(name) = name.as_str().filter(|name| *name != META) else { continue };
            let at = path.key(name);
            // Scripts may print the hosts of a group in its place.
            let (group, hosts) = if group.is_sequence() { (&Value::Null, group) } else { (group, &Value::Null) };
            self.group(name, group, &at, 0);
            self.hosts(name, hosts, &at);
        }
    }

    /// Returns the texts in a list. Null has none.
    pub(super) fn names<'a>(&mut self, value: &'a Value, path: &DocumentPath) -> Vec<(&'a str, DocumentPath)> {
        let values = match value {
            Value::Null => return Vec::new(),
            Value::Sequence(values) => values,
            other => {
                self.check(Err(wrong_type(other, "a list of names").1), path);
                return Vec::new();
            }
        };
        let mut names = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            match value.as_str() {
                Some("") => self.check(Err("is empty; a name belongs here".to_owned()), &path.index(index)),
                Some(name) => names.push((name, path.index(index))),
                None => self.check(Err(wrong_type(value, "a name").1), &path.index(index)),
            }
        }
        names
    }
}

/// Returns a value of Ansible's JSON, which marks encrypted values and texts that are not expressions by mappings.
pub(super) fn listed_cell(value: &Value) -> Option<Cell> {
    if let Some(text) = value.get("__ansible_unsafe").and_then(Value::as_str) {
        return Cell::of_text(text);
    }
    if value.get("__ansible_vault").is_some() {
        return Some(Cell::Unusable(VAULT.into()));
    }
    value_cell(value)
}
