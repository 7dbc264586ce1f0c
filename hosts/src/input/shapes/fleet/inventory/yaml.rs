//! Inventories in YAML form: the group `all` with `hosts`, `vars` and `children`, which are groups, too; and listings.

mod listing;

use serde_yaml::{Mapping, Value};

use super::super::table::Cell;
use super::{ALL, Inventory, Problem, Variables, cell};
use crate::input::listing::listed;
use crate::input::yaml::invalid::wrong_type;
use vocabulary::report::{DocumentPath, Report, Reported};

pub(in crate::input) use self::listing::host_variables;

/// How many levels groups may have.
const MAX_DEPTH: usize = 32;

/// Reads the inventory `document`, which is at `path`.
pub(in crate::input::shapes::fleet) fn read(
    document: &Mapping,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<Inventory, Reported> {
    let mut reader = Reader { inventory: Inventory::default(), wrong: false, report };
    if let Some(of_hosts) = host_variables(document) {
        reader.listing(document, of_hosts, path);
        return if reader.wrong { Err(Reported) } else { Ok(reader.inventory) };
    }
    for (name, group) in document {
        let Some(name) = name.as_str() else { continue };
        reader.group(name, group, &path.key(name), 0);
        if name != ALL {
            // Every group belongs to `all`.
            let result = reader.inventory.group(ALL).map(|all| all.children.insert(name.to_owned()));
            reader.check(result.map(drop), path);
        }
    }
    if reader.wrong { Err(Reported) } else { Ok(reader.inventory) }
}

struct Reader<'r> {
    inventory: Inventory,
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
                "hosts" => {
                    for (pattern, value) in self.members(value, &at) {
                        let at = at.key(pattern);
                        let variables = self.variables(value, &at);
                        let result = self.inventory.add_hosts(name, pattern, &variables);
                        self.check(result, &at);
                    }
                }
                "children" => {
                    for (child, value) in self.members(value, &at) {
                        let result = self.inventory.group(name).map(|group| group.children.insert(child.to_owned()));
                        self.check(result.map(drop), &at);
                        self.group(child, value, &at.key(child), depth + 1);
                    }
                }
                _ => group_key_unknown(&at, self.report),
            }
        }
    }

    fn variables(&mut self, value: &Value, path: &DocumentPath) -> Variables {
        let of = |value: &Value| match value {
            Value::String(text) => cell(text),
            other => Cell::of_value(other),
        };
        self.members(value, path).into_iter().map(|(key, value)| (key.to_owned(), of(value))).collect()
    }
}

fn group_key_unknown(path: &DocumentPath, report: &mut Report) {
    let known = listed(["hosts", "vars", "children"].into_iter());
    let message = format!("is not part of a group, which has {known}: dayone does not read it");
    report.warning("fleet-inventory-key", path, message);
}
