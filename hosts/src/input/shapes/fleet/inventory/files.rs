//! The files with variables beside an inventory: `group_vars/GROUP.yml`, `host_vars/HOST/*.yml`, and so on.
//!
//! Source: Ansible's user guide, "Organizing host and group variables", and the rules of its plugin `host_group_vars`; compared with
//! `ansible-inventory --list` in the tests.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_yaml::Value;

use super::super::table::Cell;
use super::yaml::value_cell;
use super::{ENCRYPTED_FILE, ENCRYPTED_VALUE, Inventory, Variables};
use crate::input::positions::members::Members;
use crate::input::text::{self, NamedText, VariablesOf, normal_path};
use crate::input::yaml::invalid::{InvalidValue, kind_of};
use crate::input::yaml::octals;
use crate::input::yaml::{self, Budget};
use vocabulary::report::{DocumentPath, LineColumn, Report, Reported};

/// The extensions of files with variables, in the order in which Ansible looks for them. It takes the first one that exists.
const EXTENSIONS: [&str; 4] = ["", ".yml", ".yaml", ".json"];

/// The files in `group_vars` and `host_vars`. They are read when an inventory needs them: there may be others between them.
#[derive(Default)]
pub(in crate::input::shapes::fleet) struct VariableFiles<'a>(Vec<File<'a>>);

struct File<'a> {
    /// The name for users.
    name: String,
    path: DocumentPath,
    content: Cow<'a, [u8]>,
    /// The directory of the inventory.
    directory: String,
    is_group: bool,
    /// The steps behind `group_vars` or `host_vars`: a file, or a directory and what is in it.
    steps: Vec<String>,
    used: AtomicBool,
    /// Whether an inventory in another directory has the group or the host.
    elsewhere: AtomicBool,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::input::shapes::fleet) enum Unused {
    /// The inventory that has the group or the host is in another directory, or its path is written in another way.
    Elsewhere,
    /// No inventory beside it has the group or the host, or another file comes first.
    NotReferenced,
}

impl Unused {
    /// Returns a sentence whose subject is the file.
    pub(in crate::input::shapes::fleet) fn message(self) -> &'static str {
        match self {
            Self::Elsewhere => {
                "is not read: the inventory with this group or host is not in the directory above; put the file beside it, and write \
                 the paths of both as absolute paths or both as relative ones"
            }
            Self::NotReferenced => {
                "is not read: no inventory in the directory above has this group or host, or another file about it comes first"
            }
        }
    }
}

/// Files by the group or the host that they belong to.
type ByOwner<'f, 'a> = BTreeMap<(bool, &'f str), Vec<&'f File<'a>>>;

impl<'a> VariableFiles<'a> {
    pub(in crate::input::shapes::fleet) fn add(&mut self, text: NamedText<'a>, of: VariablesOf<'_>) {
        let steps = of.steps.into_iter().map(str::to_owned).collect();
        let (directory, is_group) = (of.directory, of.is_group);
        let NamedText { name, content, path } = text;
        self.0.push(File {
            name: name.to_owned(),
            path,
            content,
            directory,
            is_group,
            steps,
            used: AtomicBool::new(false),
            elsewhere: AtomicBool::new(false),
        });
    }

    pub(in crate::input::shapes::fleet) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the path of each file that is not read, and the reason. Notes are left out.
    pub(in crate::input::shapes::fleet) fn unused(&self) -> impl Iterator<Item = (&DocumentPath, Unused)> {
        let unused = self.0.iter().filter(|file| !file.used.load(Ordering::Relaxed) && !file.may_be_notes());
        unused.map(|file| {
            let is_elsewhere = file.elsewhere.load(Ordering::Relaxed);
            (&file.path, if is_elsewhere { Unused::Elsewhere } else { Unused::NotReferenced })
        })
    }

    /// Adds the variables in the files beside the inventory with the name `name`.
    pub(in crate::input::shapes::fleet) fn add_to(
        &self,
        inventory: &mut Inventory,
        name: &str,
        budget: &mut Budget,
        report: &mut Report,
    ) -> Result<(), Reported> {
        // Ansible has put them into what it printed.
        if inventory.is_listing {
            return Ok(());
        }
        let path = normal_path(name);
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        for file in self.0.iter().filter(|file| file.directory != directory) {
            if file.owner().is_some_and(|(owner, _)| inventory.has(file.is_group, owner)) {
                file.elsewhere.store(true, Ordering::Relaxed);
            }
        }
        let mut result = Ok(());
        for ((is_group, owner), files) in self.beside(directory) {
            if !inventory.has(is_group, owner) {
                continue;
            }
            let mut variables = Variables::new();
            for file in files {
                file.used.store(true, Ordering::Relaxed);
                match file.read(budget, report) {
                    Ok(found) => variables.extend(found),
                    Err(reported) => result = Err(reported),
                }
            }
            if is_group {
                let group = inventory
                    .group(owner)
                    .map_err(|message| report.refuse("fleet-inventory", &DocumentPath::document(name), message))?;
                group.in_files = variables;
            } else {
                inventory.host_files.insert(owner.to_owned(), variables);
            }
        }
        result
    }

    /// Returns the files of each group and each host, in the order in which later ones win.
    fn beside(&self, directory: &str) -> ByOwner<'_, 'a> {
        // Files in a directory, or one file with the first of the extensions.
        let mut found: BTreeMap<(bool, &str), (usize, Vec<&File<'a>>)> = BTreeMap::new();
        for file in self.0.iter().filter(|file| file.directory == directory) {
            let Some((owner, rank)) = file.owner() else { continue };
            let (best, files) = found.entry((file.is_group, owner)).or_insert((rank, Vec::new()));
            if rank < *best {
                (*best, *files) = (rank, Vec::new());
            }
            if rank == *best {
                files.push(file);
            }
        }
        let sorted = found.into_iter().map(|(owner, (_, mut files))| {
            files.sort_by(|a, b| a.steps.cmp(&b.steps));
            (owner, files)
        });
        sorted.collect()
    }
}

impl File<'_> {
    /// Returns the group or the host of the file, and the rank of its extension. Ansible ignores some files in directories.
    fn owner(&self) -> Option<(&str, usize)> {
        let (owner, inside) = self.steps.split_first()?;
        let Some((file, directories)) = inside.split_last() else {
            let ranks = EXTENSIONS.iter().enumerate().skip(1);
            let mut named = ranks.filter_map(|(rank, end)| Some((owner.strip_suffix(end)?, rank)));
            return Some(named.next().unwrap_or((owner, 0)));
        };
        let is_left_out = |name: &String| name.starts_with('.') || name.ends_with('~');
        let is_read = !inside.iter().any(is_left_out)
            && directories.iter().all(|directory| !directory.contains('.'))
            && (!file.contains('.') || EXTENSIONS.iter().skip(1).any(|end| file.ends_with(end)));
        is_read.then_some((owner, 0))
    }

    /// Whether the file is directly in `group_vars` or `host_vars`, and has the name of notes. Such a file matters only to a group or a
    /// host of that name.
    fn may_be_notes(&self) -> bool {
        matches!(self.steps.as_slice(), [name] if text::has_name_of_notes(name))
    }

    fn read(&self, budget: &mut Budget, report: &mut Report) -> Result<Variables, Reported> {
        if self.content.starts_with(text::VAULT) {
            return Err(report.refuse("fleet-inventory", &self.path, ENCRYPTED_FILE));
        }
        let documents = yaml::documents(&self.content, budget).map_err(|problem| {
            let at = problem.position.or(Some(LineColumn::FIRST));
            report.error_in_text(problem.code, &self.path, problem.to_string(), at);
            Reported
        })?;
        let mut documents = documents.into_iter().filter(|document| !document.value.is_null());
        let mapping = match (documents.next(), documents.next()) {
            (None, _) => return Ok(Variables::new()),
            (Some(yaml::Document { value: Value::Mapping(mut mapping), ambiguous }), None) => {
                octals::mark_variables(&mut mapping, &ambiguous, &[]);
                mapping
            }
            (Some(document), None) => {
                let message = format!("is {}; variables are a mapping", kind_of(&document.value));
                return Err(report.refuse("fleet-inventory", &self.path, message));
            }
            (Some(_), Some(_)) => {
                let message = "has several documents; a file with variables has one";
                return Err(report.refuse("fleet-inventory", &self.path, message));
            }
        };
        let mut variables = Variables::new();
        // Few files have unusable values.
        let mut members = None;
        for (key, value) in mapping {
            let Value::String(key) = key else {
                let message = "has a key that is not text; put quotes around it";
                return Err(report.refuse("fleet-inventory", &self.path, message));
            };
            let mut cell = cell(&value);
            if let Some(Cell::Unusable(why)) = &mut cell {
                let members = members.get_or_insert_with(|| Members::of(&self.content, budget.limits()));
                let line = members.line(&key).map(|line| format!(" line {line}")).unwrap_or_default();
                *why = format!("in {}{line} {why}", self.name).into();
            }
            variables.insert(key.into(), cell);
        }
        Ok(variables)
    }
}

/// Returns a value that may be encrypted by itself.
fn cell(value: &Value) -> Option<Cell> {
    match InvalidValue::of(value) {
        Some(InvalidValue::UnknownTag(tag)) if tag == "vault" => Some(Cell::Unusable(ENCRYPTED_VALUE.into())),
        _ => value_cell(value),
    }
}
