//! The rows of a fleet: one row for each host, with its values by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_yaml::Value;

use crate::input::fields::refuse_type;
use crate::input::listing::quoted;
use crate::input::yaml::invalid::wrong_type;
use vocabulary::report::{DocumentPath, Report, Reported};

/// How many hosts a fleet may have.
pub(super) const MAX_ROWS: usize = 10_000;

/// How long a value may be.
const MAX_VALUE: usize = 1024;

/// Hosts and their values.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    /// The names of all columns, in their order.
    pub(super) columns: Vec<Arc<str>>,
    /// The name of its sheet, if it is in a workbook.
    pub(super) sheet: Option<String>,
}

/// The values of one host. Rows share the names of columns, and the values that they have from a group or a range: of a few kilobytes
/// with ten thousand hosts, copies would take gigabytes.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) cells: BTreeMap<Arc<str>, Cell>,
    /// Its place for users: `hosts.csv line 18`. Empty if the host's name is enough.
    pub(super) place: String,
}

impl Row {
    /// Returns the host's name.
    pub(super) fn name(&self) -> Option<&str> {
        match self.cells.get("name") {
            Some(Cell::Text(name)) => Some(name),
            _ => None,
        }
    }
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    /// A text that is not empty and has no control characters.
    Text(Arc<str>),
    /// A value that dayone cannot use: a sentence whose subject is the value.
    Unusable(Arc<str>),
}

impl Cell {
    /// Reads a value from text. An empty text is no value.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        if text.len() > MAX_VALUE {
            return Some(Self::Unusable(format!("is longer than {MAX_VALUE} bytes").into()));
        }
        Some(match text.chars().find(|c| c.is_control()) {
            None => Self::Text(text.into()),
            Some(c) => Self::Unusable(format!("contains the control character U+{:04X}", u32::from(c)).into()),
        })
    }

    /// Reads a value from YAML: a text, an integer or a boolean. Other values may not be what the user wrote.
    pub(super) fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Null => None,
            Value::String(text) => Self::of_text(text),
            Value::Bool(value) => Some(Self::Text(value.to_string().into())),
            Value::Number(number) if number.is_u64() || number.is_i64() => Some(Self::Text(number.to_string().into())),
            Value::Number(_) => Some(Self::Unusable("is a floating-point number in YAML; put quotes around it".into())),
            other => Some(Self::Unusable(wrong_type(other, "a text").1.into())),
        }
    }
}

impl Table {
    /// Returns the sheet of the table for the end of a message, if it is in a workbook: the user may have meant another one.
    pub(super) fn in_sheet(&self) -> String {
        let sheet = self.sheet.as_deref().map(quoted);
        sheet.map(|sheet| format!(" (in the sheet {sheet}; hosts.sheet selects another one)")).unwrap_or_default()
    }

    /// Sets the columns to those of the rows, sorted by name.
    pub(super) fn collect_columns(&mut self) {
        let names: BTreeSet<&Arc<str>> = self.rows.iter().flat_map(|row| row.cells.keys()).collect();
        self.columns = names.into_iter().cloned().collect();
    }

    /// Reads a list of mappings, which is at `path`.
    pub(super) fn of_values(values: &[Value], path: &DocumentPath, report: &mut Report) -> Result<Self, Reported> {
        let mut table = Self::default();
        let mut wrong = false;
        let mut seen: BTreeSet<Arc<str>> = BTreeSet::new();
        for (index, value) in values.iter().enumerate() {
            let at = path.index(index);
            let Value::Mapping(map) = value else {
                refuse_type(value, &at, "a mapping of a host's values", report);
                wrong = true;
                continue;
            };
            let mut row = Row { cells: BTreeMap::new(), place: format!("values[{index}]") };
            for (key, value) in map {
                let Some(name) = key.as_str() else {
                    report.error("key-not-text", &at, "has a key that is not text; put quotes around it");
                    wrong = true;
                    continue;
                };
                let known = seen.get(name).cloned();
                let name = known.unwrap_or_else(|| {
                    let name: Arc<str> = name.into();
                    seen.insert(Arc::clone(&name));
                    table.columns.push(Arc::clone(&name));
                    name
                });
                row.cells.extend(Cell::of_value(value).map(|cell| (name, cell)));
            }
            table.rows.push(row);
        }
        if wrong { Err(Reported) } else { Ok(table) }
    }
}
