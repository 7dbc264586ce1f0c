//! Inventories in YAML form: the group `all` with `hosts`, `vars` and `children`, which are groups, too; and listings, as
//! `ansible-inventory --list` and inventory scripts print them: groups with lists of hosts and children, and the variables of all
//! hosts in `_meta`.
//!
//! Source of listings: Ansible's developer guide, "Developing dynamic inventory"; compared with `ansible-inventory` in the tests.

use serde_yaml::{Mapping, Value};

use super::super::table::Cell;
use super::{ALL, ENCRYPTED_VALUE, Inventory, MAX_ERRORS, Problem, Variables, cell};
use crate::input::listing::listed;
use crate::input::yaml::invalid::{unsafe_text, wrong_type};
use vocabulary::report::{DocumentPath, Report, Reported};

/// How many levels groups may have.
const MAX_DEPTH: usize = 32;

/// The member with the variables of all hosts.
const META: &str = "_meta";
const HOST_VARIABLES: &str = "hostvars";

/// Returns the variables of all hosts, if `document` is a listing. No other inventory has them in one place.
pub(in crate::input) fn host_variables(document: &Mapping) -> Option<&Value> {
    document.get(META)?.get(HOST_VARIABLES).filter(|variables| variables.is_mapping())
}

/// Reads the inventory `document`, which is at `path`.
pub(in crate::input::shapes::fleet) fn read(
    document: &Mapping,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<Inventory, Reported> {
    let of_hosts = host_variables(document);
    let inventory = Inventory { is_listing: of_hosts.is_some(), ..Inventory::default() };
    let mut reader = Reader { inventory, is_listing: of_hosts.is_some(), errors: 0, report };
    if let Some(of_hosts) = of_hosts {
        reader.listing(document, of_hosts, path);
    } else {
        for (name, group) in document {
            let Some(name) = name.as_str() else { continue };
            reader.group(name, group, &path.key(name), 0);
            if name != ALL {
                // Every group belongs to `all`.
                let result = reader.inventory.group(ALL).map(|all| all.children.insert(name.to_owned()));
                reader.check(result.map(drop), path);
            }
        }
    }
    if reader.errors > 0 { Err(Reported) } else { Ok(reader.inventory) }
}

struct Reader<'r> {
    inventory: Inventory,
    /// Whether the inventory is a listing, in which Ansible has already expanded the hosts' names.
    is_listing: bool,
    errors: usize,
    report: &'r mut Report,
}

impl Reader<'_> {
    fn check(&mut self, result: Result<(), Problem>, path: &DocumentPath) {
        if let Err(message) = result {
            if self.errors < MAX_ERRORS {
                self.report.error("fleet-inventory", path, message);
            }
            self.errors += 1;
        }
    }

    /// Returns the members of a mapping. Null has none.
    fn members<'a>(&mut self, value: &'a Value, path: &DocumentPath) -> Vec<(&'a str, &'a Value)> {
        match value {
            Value::Null => Vec::new(),
            Value::Mapping(map) => {
                let texts = map.iter().filter_map(|(key, value)| Some((key.as_str()?, value)));
                let members: Vec<_> = texts.collect();
                if members.len() < map.len() {
                    self.check(Err("has a key that is not text; put quotes around it".to_owned()), path);
                }
                members
            }
            other => {
                self.check(Err(wrong_type(other, "a mapping").1), path);
                Vec::new()
            }
        }
    }

    fn group(&mut self, name: &str, value: &Value, path: &DocumentPath, depth: usize) {
        if depth > MAX_DEPTH {
            return self.check(Err(format!("has groups in more than {MAX_DEPTH} levels")), path);
        }
        let declared = self.inventory.group(name).map(drop);
        self.check(declared, path);
        for (key, value) in self.members(value, path) {
            let at = path.key(key);
            match key {
                "vars" => {
                    let variables = self.variables(value, &at);
                    let result = self.inventory.group(name).map(|group| group.variables.extend(variables));
                    self.check(result, &at);
                }
                "hosts" => self.hosts(name, value, &at),
                "children" => {
                    for (child, value, at) in self.entries(value, &at) {
                        let result = self.inventory.group(name).map(|group| group.children.insert(child.to_owned()));
                        self.check(result.map(drop), &at);
                        self.group(child, value, &at, depth + 1);
                    }
                }
                _ => {
                    let known = listed(["hosts", "vars", "children"].into_iter());
                    let message = format!("is not part of a group, which has {known}: dayone does not read it");
                    self.report.warning("fleet-inventory-key", &at, message);
                }
            }
        }
    }

    fn hosts(&mut self, group: &str, hosts: &Value, path: &DocumentPath) {
        for (name, value, at) in self.entries(hosts, path) {
            // To expand a range takes time, also if that fails.
            if self.errors >= MAX_ERRORS {
                return;
            }
            let variables = self.variables(value, &at);
            let result = if self.is_listing {
                let index = self.inventory.add_host(name, &variables);
                index.and_then(|index| self.inventory.group(group).map(|group| _ = group.hosts.insert(index)))
            } else {
                self.inventory.add_hosts(group, name, &variables)
            };
            self.check(result, &at);
        }
    }

    /// Returns the hosts or children of a group, each with what the group says about it. Listings only name them. In other inventories, a
    /// text is the name of the only one.
    fn entries<'a>(&mut self, value: &'a Value, path: &DocumentPath) -> Vec<(&'a str, &'a Value, DocumentPath)> {
        if self.is_listing {
            return self.names(value, path).into_iter().map(|(name, at)| (name, &Value::Null, at)).collect();
        }
        match value {
            Value::String(name) if name.is_empty() => {
                self.check(Err("is empty; a name belongs here".to_owned()), path);
                Vec::new()
            }
            Value::String(name) => vec![(name.as_str(), &Value::Null, path.clone())],
            _ => self.members(value, path).into_iter().map(|(name, value)| (name, value, path.key(name))).collect(),
        }
    }

    /// Reads a listing whose hosts have the variables `of_hosts`.
    fn listing(&mut self, document: &Mapping, of_hosts: &Value, path: &DocumentPath) {
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
    fn names<'a>(&mut self, value: &'a Value, path: &DocumentPath) -> Vec<(&'a str, DocumentPath)> {
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

    fn variables(&mut self, value: &Value, path: &DocumentPath) -> Variables {
        let of = if self.is_listing { listed_cell } else { value_cell };
        self.members(value, path).into_iter().map(|(key, value)| (key.into(), of(value))).collect()
    }
}

pub(super) fn value_cell(value: &Value) -> Option<Cell> {
    // Ansible looks for no expressions in it.
    if let Some(text) = unsafe_text(value) {
        return Cell::of_text(&text);
    }
    match value {
        Value::String(text) => cell(text),
        other => Cell::of_value(other),
    }
}

/// Returns a value of Ansible's JSON, which marks encrypted values and texts that are not expressions by mappings.
fn listed_cell(value: &Value) -> Option<Cell> {
    if let Some(text) = value.get("__ansible_unsafe").and_then(Value::as_str) {
        return Cell::of_text(text);
    }
    if value.get("__ansible_vault").is_some() {
        return Some(Cell::Unusable(ENCRYPTED_VALUE.into()));
    }
    value_cell(value)
}
