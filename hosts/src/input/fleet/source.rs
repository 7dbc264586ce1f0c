//! Where the rows of a fleet come from: in the document itself, or in a file that is handed over with it.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_yaml::{Mapping, Value};

use super::table::{MAX_ROWS, Table};
use super::{csv, inventory};
use crate::input::document::Document;
use crate::input::flaw::{self, Reported};
use crate::input::listing::listed;
use crate::input::object::Fields;
use crate::input::text::NamedText;
use vocabulary::report::{DocumentPath, Report};

/// The members of `spec.hosts` that say where the rows are.
const SOURCES: [&str; 5] = ["values", "csv", "csvFile", "inventory", "inventoryFile"];
/// What is said where there is none, or more than one.
pub(super) const WANTED: &str =
    "does not say where the hosts are; add one of values, csv, csvFile, inventory and inventoryFile";

/// The files that fleets may name.
#[derive(Default)]
pub(in crate::input) struct NamedTables<'a> {
    files: Vec<File<'a>>,
}

struct File<'a> {
    /// As the user calls it, without a suffix for its packing.
    name: String,
    path: DocumentPath,
    content: Content<'a>,
    used: AtomicBool,
}

enum Content<'a> {
    Text(NamedText<'a>),
    Inventory(Mapping),
}

/// Rows, and what is known of where they are from.
pub(super) struct Tables {
    pub(super) table: Table,
    pub(super) path: DocumentPath,
    /// Whether a column is there for the fleet only: an inventory holds much else.
    pub(super) every_column_counts: bool,
}

impl<'a> NamedTables<'a> {
    pub(in crate::input) fn new(tables: Vec<NamedText<'a>>, inventories: Vec<Document>) -> Self {
        let texts = tables.into_iter().map(|text| File {
            name: text.name.strip_suffix(".gz").unwrap_or(text.name).to_owned(),
            path: text.path.clone(),
            content: Content::Text(text),
            used: AtomicBool::new(false),
        });
        let inventories = inventories.into_iter().map(|document| File {
            name: document.position.to_string(),
            path: document.position,
            content: Content::Inventory(document.value),
            used: AtomicBool::new(false),
        });
        Self { files: texts.chain(inventories).collect() }
    }

    /// The file that a fleet means by `name`: the one of this path, else the one whose path ends so, else the one of this
    /// file name.
    fn find(&self, name: &str, fields: &Fields<'_>, key: &str, report: &mut Report) -> Result<&File<'a>, Reported> {
        let name = name.trim_start_matches("./");
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let ways: [&dyn Fn(&str) -> bool; 3] = [
            &|path| path.trim_start_matches("./") == name,
            &|path| path.strip_suffix(name).is_some_and(|before| before.ends_with('/')),
            &|path| last(path) == last(name),
        ];
        for way in ways {
            let mut found = self.files.iter().filter(|file| way(&file.name));
            match (found.next(), found.next()) {
                (None, _) => {}
                (Some(file), None) => {
                    file.used.store(true, Ordering::Relaxed);
                    return Ok(file);
                }
                (Some(first), Some(second)) => {
                    let both = listed([first.name.as_str(), second.name.as_str()].into_iter());
                    let message =
                        format!("is {name:?}, and several files have this name: {both}; write more of the path");
                    return Err(fields.wrong(key, "fleet-file-ambiguous", message, report));
                }
            }
        }
        let there = listed(self.files.iter().map(|file| file.name.as_str()));
        let message = format!(
            "is {name:?}, and no file with this name came with the fleet; the files are: {there} (tables end in .csv, \
             inventories in .ini, .inventory, .yaml or .json)"
        );
        Err(fields.wrong(key, "fleet-file-missing", message, report))
    }

    /// Warns of files that no fleet names.
    pub(in crate::input) fn report_unused(&self, report: &mut Report) {
        for file in self.files.iter().filter(|file| !file.used.load(Ordering::Relaxed)) {
            report.warning("fleet-file-unused", &file.path, "belongs to no HostFleet, and dayone does not read it");
        }
    }

    /// The files, for who has no use for them: where each is, and what it is.
    pub(in crate::input) fn unread(&self) -> impl Iterator<Item = (&DocumentPath, &'static str)> {
        self.files.iter().map(|file| match &file.content {
            Content::Text(_) => (&file.path, "is a table"),
            Content::Inventory(_) => (&file.path, "is an Ansible inventory"),
        })
    }
}

/// The rows that `hosts` says.
pub(super) fn table(hosts: &Fields<'_>, tables: &NamedTables<'_>, report: &mut Report) -> Result<Tables, Reported> {
    let [values, csv, csv_file, inventory, inventory_file] = SOURCES;
    if unknown_keys(hosts, &[values, csv, csv_file, inventory, inventory_file, "group"], report) {
        return Err(Reported);
    }
    let given: Vec<(&str, &Value)> = SOURCES
        .iter()
        .filter_map(|key| Some((*key, hosts.mapping.get(*key).filter(|value| !value.is_null())?)))
        .collect();
    let (key, value) = match given.as_slice() {
        [one] => *one,
        [] => return Err(hosts_wrong(hosts, WANTED.to_owned(), report)),
        several => {
            let keys = listed(several.iter().map(|(key, _)| *key));
            return Err(hosts_wrong(
                hosts,
                format!("says in several ways where the hosts are: {keys}; keep one"),
                report,
            ));
        }
    };
    let group = hosts.text("group", report)?;
    if group.is_some() && ![inventory, inventory_file].contains(&key) {
        let message = format!("is for inventories, and the hosts are in {key}");
        return Err(hosts.wrong("group", "fleet-key-unknown", message, report));
    }
    let path = hosts.path.key(key);
    let wrong_type = |wanted: &str, report: &mut Report| {
        let (code, message) = flaw::wrong_type(value, wanted);
        hosts.wrong(key, code, message, report)
    };
    let of_inventory = |inventory: inventory::Inventory, path: DocumentPath, report: &mut Report| {
        let table = inventory.rows(group, &path, report)?;
        Ok(Tables { table, path, every_column_counts: false })
    };
    let tables = match (key, value) {
        ("values", Value::Sequence(values)) if values.len() > MAX_ROWS => {
            let message = format!("has more than {MAX_ROWS} hosts; split it");
            return Err(hosts.wrong(key, "fleet-too-large", message, report));
        }
        ("values", Value::Sequence(values)) => {
            let table = Table::of_values(values, &path, report)?;
            Tables { table, path, every_column_counts: true }
        }
        ("values", _) => return Err(wrong_type("a list with the values of each host", report)),
        ("csv", Value::String(text)) => {
            let table = csv::read(text.as_bytes(), "csv", &path, report)?;
            Tables { table, path, every_column_counts: true }
        }
        ("inventory", Value::String(text)) => {
            of_inventory(inventory::read_ini(text.as_bytes(), &path, report)?, path, report)?
        }
        ("inventory", Value::Mapping(map)) => of_inventory(inventory::read_yaml(map, &path, report)?, path, report)?,
        ("csv", _) => return Err(wrong_type("the text of a table", report)),
        ("inventory", _) => return Err(wrong_type("an inventory, as text in INI form or as a mapping", report)),
        _ => {
            let Some(name) = hosts.text(key, report)? else { return Err(wrong_type("the name of a file", report)) };
            let file = tables.find(name, hosts, key, report)?;
            let path = file.path.clone();
            match (&file.content, key) {
                (Content::Text(text), "csvFile") => {
                    let table = csv::read(&text.content, &file.name, &path, report)?;
                    Tables { table, path, every_column_counts: true }
                }
                (Content::Text(text), _) => {
                    of_inventory(inventory::read_ini(&text.content, &path, report)?, path, report)?
                }
                (Content::Inventory(map), "inventoryFile") => {
                    of_inventory(inventory::read_yaml(map, &path, report)?, path, report)?
                }
                (Content::Inventory(_), _) => {
                    let message = "names an Ansible inventory; write inventoryFile in place of csvFile";
                    return Err(hosts.wrong(key, "fleet-file-missing", message, report));
                }
            }
        }
    };
    if tables.table.rows.is_empty() {
        report.error("fleet-table-empty", &tables.path, "has no hosts");
        return Err(Reported);
    }
    Ok(tables)
}

fn hosts_wrong(hosts: &Fields<'_>, message: String, report: &mut Report) -> Reported {
    report.error("fleet-hosts-missing", &hosts.path, message);
    Reported
}

/// Reports unknown members. Returns whether there are any.
pub(super) fn unknown_keys(fields: &Fields<'_>, known: &[&str], report: &mut Report) -> bool {
    let mut any = false;
    for key in fields.mapping.keys() {
        let name = key.as_str().unwrap_or("?");
        if !known.contains(&name) {
            let message = format!("is not known here; the keys are {}", known.join(", "));
            report.error("fleet-key-unknown", &fields.path.key(name), message);
            any = true;
        }
    }
    any
}
