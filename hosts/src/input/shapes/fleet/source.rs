//! Where the rows of a fleet come from: from the document itself, or from a file that comes with it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_yaml::{Mapping, Value};

use super::inventory::{Inventory, VariableFiles};
use super::table::{MAX_ROWS, Table};
use super::{csv, inventory, xlsx};
use crate::input::document::Document;
use crate::input::fields::{Fields, refuse_type};
use crate::input::listing::listed;
use crate::input::text::{NamedText, VariablesOf, is_ini, is_workbook, normal_path};
use crate::input::yaml::{self, Budget};
use vocabulary::report::{DocumentPath, Report, Reported};

/// The members of `spec.hosts` for the rows. There must be exactly one.
pub(super) const SOURCES: [&str; 6] = ["values", "csv", "csvFile", XLSX_FILE, "inventory", "inventoryFile"];
pub(super) const XLSX_FILE: &str = "xlsxFile";
/// How many looks at files count as one value of the budget: a value takes as long, or longer.
const LOOKS_OF_A_VALUE: usize = 16;
/// How many unknown keys of a mapping dayone reports.
const MAX_UNKNOWN: usize = 100;
/// The message if there is none.
pub(super) const WANTED: &str =
    "does not say where the hosts are; add one of values, csv, csvFile, xlsxFile, inventory and inventoryFile";

/// The files that fleets may name.
#[derive(Default)]
pub(in crate::input) struct NamedTables<'a> {
    files: Vec<File<'a>>,
    /// The files with variables beside inventories.
    variables: VariableFiles<'a>,
    /// The paths of documents that are neither an inventory nor of another known shape.
    unknown: Vec<DocumentPath>,
}

struct File<'a> {
    /// The user's name for the file, without `.gz`.
    name: String,
    /// The name without steps that lead nowhere, and without `.gz`.
    normal: String,
    /// About how many bytes there are to read.
    size: usize,
    path: DocumentPath,
    content: Content<'a>,
    used: AtomicBool,
}

enum Content<'a> {
    Text(Cow<'a, [u8]>),
    Inventory(Mapping),
}

/// Rows, and where they come from.
pub(super) struct Rows {
    pub(super) table: Table,
    pub(super) path: DocumentPath,
    /// Whether every column should be used. An inventory may have variables for other purposes.
    pub(super) every_column_counts: bool,
}

impl<'a> NamedTables<'a> {
    pub(in crate::input) fn add_text(&mut self, text: NamedText<'a>) {
        let name = without_gz(text.name).to_owned();
        let size = text.content.len();
        self.add(name, text.path.clone(), Content::Text(text.content), size);
    }

    pub(in crate::input) fn add_variables(&mut self, text: NamedText<'a>, of: VariablesOf<'_>) {
        self.variables.add(text, of);
    }

    pub(in crate::input) fn add_inventory(&mut self, document: Document) {
        let (values, text) = yaml::size_of_members(&document.value);
        self.add(document.path.to_string(), document.path, Content::Inventory(document.value), values + text);
    }

    pub(in crate::input) fn add_unknown(&mut self, path: DocumentPath) {
        self.unknown.push(path);
    }

    fn add(&mut self, name: String, path: DocumentPath, content: Content<'a>, size: usize) {
        let normal = without_gz(&normal_path(&name)).to_owned();
        self.files.push(File { name, normal, size, path, content, used: AtomicBool::new(false) });
    }

    pub(in crate::input) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    fn count(&self) -> usize {
        self.files.len() + self.variables.count()
    }

    /// Finds the file that a fleet means by `name`: by the whole path, else by the end of the path, else by the file name. The name of a
    /// compressed file may have its suffix.
    fn find(&self, name: &str, fields: &Fields<'_>, key: &str, report: &mut Report) -> Result<&File<'a>, Reported> {
        let name = &normal_path(name);
        let wanted = without_gz(name);
        // The ways compare paths without steps that lead nowhere.
        let ways: [&dyn Fn(&str) -> bool; 3] = [
            &|path| path == wanted,
            &|path| path.strip_suffix(wanted).is_some_and(|before| before.ends_with('/')),
            &|path| path.rsplit('/').next() == wanted.rsplit('/').next(),
        ];
        for way in ways {
            let found = || self.files.iter().filter(|file| way(&file.normal));
            // Somebody may give an inventory together with its compressed copy.
            let alike = || found().filter(|file| is_compressed(&file.name) == is_compressed(name));
            if let Some(file) = single(found()).or_else(|| single(alike())) {
                file.used.store(true, Ordering::Relaxed);
                return Ok(file);
            }
            let mut several = found();
            if let (Some(first), Some(second)) = (several.next(), several.next()) {
                let both = listed([first.name.as_str(), second.name.as_str()].into_iter());
                let message = format!("is {name:?}, and several files have this name: {both}; write more of the path");
                return Err(fields.wrong(key, "fleet-file-ambiguous", message, report));
            }
        }
        // A document in a stream has a path below that of the file.
        let mut files = self.unknown.iter().flat_map(DocumentPath::tops).map(ToString::to_string);
        if key == "inventoryFile"
            && files.any(|file| !file.is_empty() && ways.iter().any(|way| way(without_gz(&normal_path(&file)))))
        {
            let message = format!(
                "is {name:?}, and this file has no `all` at its top, so dayone does not read it as an Ansible inventory; put its \
                 groups below `children` of `all`"
            );
            return Err(fields.wrong(key, "fleet-file-missing", message, report));
        }
        let there = listed(self.files.iter().map(|file| file.name.as_str()));
        let message = format!(
            "is {name:?}, and no file with this name came with the fleet; the files are: {there} (tables end in .csv, .tsv, \
             .xlsx or .xlsm, inventories in .ini, .inventory, .yaml or .json, or have no suffix)"
        );
        Err(fields.wrong(key, "fleet-file-missing", message, report))
    }

    /// Warns of files that no fleet uses.
    pub(in crate::input) fn report_unused(&self, report: &mut Report) {
        for file in self.files.iter().filter(|file| !file.used.load(Ordering::Relaxed)) {
            report.warning("fleet-file-unused", &file.path, "belongs to no HostFleet, and dayone does not read it");
        }
        for (path, why) in self.variables.unused() {
            report.warning("fleet-file-unused", path, why.message());
        }
    }

    /// Returns the path of each file and a sentence about it, for inputs without a fleet.
    pub(in crate::input) fn unread(&self) -> impl Iterator<Item = (&DocumentPath, &'static str)> {
        let files = self.files.iter().map(|file| match &file.content {
            Content::Text(content) if is_workbook(content) => {
                (&file.path, "is an Excel workbook without a sheet HostFleet")
            }
            Content::Text(_) if is_ini(&file.name) => (&file.path, "is an Ansible inventory"),
            Content::Text(_) => (&file.path, "is a table"),
            Content::Inventory(_) => (&file.path, "is an Ansible inventory"),
        });
        files.chain(self.variables.unused().map(|(path, _)| (path, "has variables of an Ansible inventory")))
    }
}

/// Returns the only item, if there is one and no other.
fn single<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

fn is_compressed(name: &str) -> bool {
    without_gz(name) != name
}

/// Returns the name of a file before it was compressed.
fn without_gz(name: &str) -> &str {
    name.strip_suffix(".gz").unwrap_or(name)
}

/// Reads the rows of `hosts`.
pub(super) fn rows(
    hosts: &Fields<'_>,
    tables: &NamedTables<'_>,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Rows, Reported> {
    if unknown_keys(hosts, &[&SOURCES[..], &["group", "sheet"]].concat(), report) {
        return Err(Reported);
    }
    let (key, value) = only_source(hosts, report)?;
    let group = option_of(hosts, "group", "inventories", &["inventory", "inventoryFile"], key, report)?;
    let sheet = option_of(hosts, "sheet", XLSX_FILE, &[XLSX_FILE], key, report)?;
    let path = hosts.path.key(key);
    let rows = match (key, value) {
        ("values", Value::Sequence(values)) if values.len() > MAX_ROWS => {
            let message = format!("has more than {MAX_ROWS} hosts; split it");
            return Err(hosts.wrong(key, "fleet-too-large", message, report));
        }
        ("values", Value::Sequence(values)) => {
            let table = Table::of_values(values, &path, report)?;
            Rows { table, path, every_column_counts: true }
        }
        ("csv", Value::String(text)) => of_csv(text.as_bytes(), "csv", path, report)?,
        ("inventory", Value::String(text)) => {
            of_inventory(&inventory::read_ini(text.as_bytes(), &path, report)?, group, path, budget, report)?
        }
        ("inventory", Value::Mapping(map)) => {
            of_inventory(&inventory::read_yaml(map, &path, report)?, group, path, budget, report)?
        }
        ("csvFile" | XLSX_FILE | "inventoryFile", Value::String(name)) if !name.is_empty() => {
            let Some(name) = hosts.text(key, report)? else { return Err(Reported) };
            // Each fleet looks at all files, and any number of fleets may name one file, which each reads anew.
            let looks = tables.count() / LOOKS_OF_A_VALUE;
            let left = budget.take_copies((looks, 0));
            left.map_err(|problem| hosts.wrong(key, problem.code, problem.message, report))?;
            let file = tables.find(name, hosts, key, report)?;
            let left = budget.take_copies((0, file.size));
            left.map_err(|problem| hosts.wrong(key, problem.code, problem.message, report))?;
            of_file(file, (hosts, key), group, sheet, tables, budget, report)?
        }
        (_, other) => {
            let wanted = match key {
                "values" => "a list with the values of each host",
                "csv" => "the text of a table",
                "inventory" => "an inventory, as text in INI form or as a mapping",
                _ => "the name of a file",
            };
            return Err(refuse_type(other, &path, wanted, report));
        }
    };
    if rows.table.rows.is_empty() {
        let message = format!("has no hosts{}", rows.table.in_sheet());
        return Err(report.refuse("fleet-table-empty", &rows.path, message));
    }
    Ok(rows)
}

/// Returns the member that says where the rows are, and its value. There must be exactly one.
fn only_source<'a>(hosts: &Fields<'a>, report: &mut Report) -> Result<(&'static str, &'a Value), Reported> {
    let given: Vec<(&'static str, &'a Value)> = SOURCES
        .iter()
        .filter_map(|key| Some((*key, hosts.mapping.get(*key).filter(|value| !value.is_null())?)))
        .collect();
    match given.as_slice() {
        [one] => Ok(*one),
        [] => Err(report.refuse("fleet-hosts-missing", &hosts.path, WANTED)),
        several => {
            let keys = listed(several.iter().map(|(key, _)| *key));
            let message = format!("says in several ways where the hosts are: {keys}; keep one");
            Err(report.refuse("fleet-hosts-missing", &hosts.path, message))
        }
    }
}

/// Returns the text of a member that is only for some of the sources. `purpose` names these in messages.
fn option_of<'a>(
    hosts: &Fields<'a>,
    option: &str,
    purpose: &str,
    sources: &[&str],
    key: &str,
    report: &mut Report,
) -> Result<Option<&'a str>, Reported> {
    let text = hosts.text(option, report)?;
    if text.is_some() && !sources.contains(&key) {
        let message = format!("is for {purpose}, and the hosts are in {key}");
        return Err(hosts.wrong(option, "fleet-key-unknown", message, report));
    }
    Ok(text)
}

/// Reads the rows of a file, which `hosts` names under `key`.
fn of_file(
    file: &File<'_>,
    (hosts, key): (&Fields<'_>, &str),
    group: Option<&str>,
    sheet: Option<&str>,
    tables: &NamedTables<'_>,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Rows, Reported> {
    let path = file.path.clone();
    match (&file.content, key) {
        (Content::Text(text), XLSX_FILE) => {
            let table = xlsx::read(text, sheet, (&file.name, &path), budget, report)?;
            Ok(Rows { table, path, every_column_counts: true })
        }
        (Content::Text(text), _) if is_workbook(text) => {
            let message = format!("names an Excel workbook; write {XLSX_FILE} in place of {key}");
            Err(hosts.wrong(key, "fleet-file-missing", message, report))
        }
        (Content::Text(text), "csvFile") => of_csv(text, &file.name, path, report),
        (Content::Inventory(_), "inventoryFile") | (Content::Text(_), _) => {
            let mut inventory = match &file.content {
                Content::Text(text) => inventory::read_ini(text, &path, report)?,
                Content::Inventory(map) => inventory::read_yaml(map, &path, report)?,
            };
            tables.variables.add_to(&mut inventory, &file.name, budget, report)?;
            of_inventory(&inventory, group, path, budget, report)
        }
        (Content::Inventory(_), _) => {
            let message = format!("names an Ansible inventory; write inventoryFile in place of {key}");
            Err(hosts.wrong(key, "fleet-file-missing", message, report))
        }
    }
}

fn of_csv(text: &[u8], name: &str, path: DocumentPath, report: &mut Report) -> Result<Rows, Reported> {
    let table = csv::read(text, name, &path, report)?;
    Ok(Rows { table, path, every_column_counts: true })
}

fn of_inventory(
    inventory: &Inventory,
    group: Option<&str>,
    path: DocumentPath,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Rows, Reported> {
    let table = inventory.rows(group, &path, budget, report)?;
    Ok(Rows { table, path, every_column_counts: false })
}

/// Reports unknown members. Returns whether there are any.
pub(super) fn unknown_keys(fields: &Fields<'_>, known: &[&str], report: &mut Report) -> bool {
    let (mut any, most) = (false, report.findings().len() + MAX_UNKNOWN);
    for key in fields.mapping.keys() {
        let name = key.as_str().unwrap_or("?");
        if !known.contains(&name) {
            let message = || format!("is not known here; the keys are {}", known.join(", "));
            report.error_up_to(most, "fleet-key-unknown", &fields.path.key(name), message);
            any = true;
        }
    }
    any
}
