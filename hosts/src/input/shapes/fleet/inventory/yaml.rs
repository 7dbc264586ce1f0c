//! Inventories in YAML form: the group `all` with `hosts`, `vars` and `children`, which are groups, too; and listings.

mod listing;

use serde_yaml::{Mapping, Value};

use super::super::table::Cell;
use super::{ALL, Inventory, Problem, Variables, cell};
use crate::input::listing::listed;
use crate::input::yaml::invalid::wrong_type;
use vocabulary::report::{DocumentPath, Report, Reported};

pub(in crate::input) use self::listing::host_variables;
use self::listing::listed_cell;

/// How many levels groups may have.
const MAX_DEPTH: usize = 32;

/// Reads the inventory `document`, which is at `path`.
pub(in crate::input::shapes::fleet) fn read(
    document: &Mapping,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<Inventory, Reported> {
    let of_hosts = host_variables(document);
    let mut reader = Reader { inventory: Inventory::default(), is_listing: of_hosts.is_some(), wrong: false, report };
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
    if reader.wrong { Err(Reported) } else { Ok(reader.inventory) }
}

struct Reader<'r> {
    inventory: Inventory,
    /// Whether the inventory is a listing, in which Ansible has already expanded the hosts' names.
    is_listing: bool,
    wrong: bool,
    report: &'r mut Report,
}

impl Reader<'_> {
    fn check(&mut self, result: Result<(), Problem>, path: &DocumentPath) {
        if let Err(message) = result {
            self.report.error("fleet-inventory", path, message);
            self.wrong = true;
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

    /// Returns the hosts or children of a group, each with what the group says about it. Listings only name them.
    fn entries<'a>(&mut self, value: &'a Value, path: &DocumentPath) -> Vec<(&'a str, &'a Value, DocumentPath)> {
        if self.is_listing {
            return self.names(value, path).into_iter().map(|(name, at)| (name, &Value::Null, at)).collect();
        }
        self.members(value, path).into_iter().map(|(name, value)| (name, value, path.key(name))).collect()
    }

    fn variables(&mut self, value: &Value, path: &DocumentPath) -> Variables {
        let of = if self.is_listing { listed_cell } else { value_cell };
        self.members(value, path).into_iter().map(|(key, value)| (key.to_owned(), of(value))).collect()
    }
}

fn value_cell(value: &Value) -> Option<Cell> {
    match value {
        Value::String(text) => cell(text),
        other => Cell::of_value(other),
    }
}
