//! Templates: documents with `${name}` in their texts, without loops, conditions and functions.
//!
//! dayone reads the document first, and then replaces variables inside single texts. So no value can become a key or end a
//! text. The result is always text: `0123`, `1e3`, `yes` and `52:54:00:12:34:56` stay unchanged. NMState reads numbers and booleans
//! from text, except at a few keys, where the value becomes a number or a boolean.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_yaml::{Mapping, Number, Value};

use super::super::booleans::{BOOLEANS, FEATURES};
use super::table::{Cell, Row};
use crate::input::listing::listed;
use crate::input::yaml;
use vocabulary::report::{DocumentPath, Report};

/// Members of NMState that accept numbers only without quotes. `port` is that of `macsec`: the ports of controllers are lists.
const NUMBERS: [&str; 8] = [
    "gc-timer",
    "hello-timer",
    "max-mtu",
    "min-mtu",
    "port",
    "suppress-prefix-length",
    "suppress_prefixlength",
    "vlan-default-pvid",
];

/// How many errors of a template dayone reports. A template of a few megabytes may use hundreds of thousands of unknown variables.
const MAX_ERRORS: usize = 100;

/// A document that is parsed once and filled in for each row.
#[derive(Debug)]
pub(super) enum Template {
    /// A part without variables.
    Plain(Value),
    Text(Vec<Piece>),
    /// A single variable where NMState accepts only a boolean.
    Boolean(String),
    /// A single variable where NMState accepts only a number.
    Number(String),
    List(Vec<Template>),
    Mapping(Vec<(Value, Template)>),
}

#[derive(Debug)]
pub(super) enum Piece {
    Literal(String),
    Variable(String),
}

/// The variables, and their uses in the template so far.
pub(super) struct Variables<'a> {
    /// The names of all variables, in the order of their columns.
    known: &'a [Arc<str>],
    /// Whether each is used.
    used: BTreeMap<&'a str, bool>,
    /// The sheet that they come from, for the end of a message.
    in_sheet: String,
}

impl<'a> Variables<'a> {
    pub(super) fn new(known: &'a [Arc<str>], in_sheet: String) -> Self {
        Self { known, used: known.iter().map(|name| (&**name, false)).collect(), in_sheet }
    }

    /// Notes the use of a variable. Returns whether it exists.
    pub(super) fn take(&mut self, name: &str) -> bool {
        match self.used.get_mut(name) {
            Some(used) => {
                *used = true;
                true
            }
            None => false,
        }
    }

    /// Returns the names of the variables that the template does not use.
    pub(super) fn unused(&self) -> Vec<&'a str> {
        self.known.iter().map(|name| &**name).filter(|name| self.used.get(name) == Some(&false)).collect()
    }
}

/// Why a row cannot fill a template, with the place in the template.
#[derive(Debug)]
pub(super) struct Fault {
    /// The steps to the place, the last one first.
    steps: Vec<Step>,
    /// A sentence whose subject is the text in the template.
    pub(super) message: String,
}

#[derive(Debug)]
enum Step {
    Key(String),
    Index(usize),
}

impl Fault {
    fn inside(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    pub(super) fn inside_key(self, key: &str) -> Self {
        self.inside(Step::Key(key.to_owned()))
    }

    /// Returns the path in a template at `top`.
    pub(super) fn path(&self, top: &DocumentPath) -> DocumentPath {
        self.steps.iter().rev().fold(top.clone(), |path, step| match step {
            Step::Key(key) => path.key(key),
            Step::Index(index) => path.index(*index),
        })
    }
}

impl Template {
    /// Reads a template, and reports its errors.
    pub(super) fn read(value: &Value, path: &DocumentPath, variables: &mut Variables<'_>, report: &mut Report) -> Self {
        match value {
            Value::String(text) => match pieces(text) {
                Ok(pieces) => Self::text(pieces, path, variables, report),
                Err(message) => {
                    report.error_up_to(MAX_ERRORS, "fleet-variable-invalid", path, || message);
                    Self::Plain(Value::Null)
                }
            },
            Value::Sequence(values) => {
                let read = |(index, value)| Self::read(value, &path.index(index), variables, report);
                let parts: Vec<Self> = values.iter().enumerate().map(read).collect();
                if parts.iter().all(Self::is_plain) { Self::Plain(value.clone()) } else { Self::List(parts) }
            }
            Value::Mapping(map) => {
                let mut parts = Vec::with_capacity(map.len());
                for (key, value) in map {
                    let name = key.as_str().unwrap_or("?");
                    let path = path.key(name);
                    if name.contains("${") {
                        let message = || "is a key with a variable; use variables in values only".to_owned();
                        report.error_up_to(MAX_ERRORS, "fleet-variable-in-key", &path, message);
                    }
                    let part = Self::read(value, &path, variables, report).of_type_at(name);
                    parts.push((key.clone(), part));
                }
                if parts.iter().all(|(_, part)| part.is_plain()) {
                    Self::Plain(value.clone())
                } else {
                    Self::Mapping(parts)
                }
            }
            other => Self::Plain(other.clone()),
        }
    }

    fn text(pieces: Vec<Piece>, path: &DocumentPath, variables: &mut Variables<'_>, report: &mut Report) -> Self {
        let mut literal = Some(String::new());
        for piece in &pieces {
            match (piece, &mut literal) {
                (Piece::Literal(text), Some(literal)) => literal.push_str(text),
                (Piece::Literal(_), None) => {}
                (Piece::Variable(name), _) => {
                    literal = None;
                    if !variables.take(name) {
                        let message = || {
                            let known = listed(variables.known.iter().map(|name| &**name));
                            let in_sheet = &variables.in_sheet;
                            format!("uses ${{{name}}}, which no row has; the variables are: {known}{in_sheet}")
                        };
                        report.error_up_to(MAX_ERRORS, "fleet-variable-unknown", path, message);
                    }
                }
            }
        }
        literal.map_or(Self::Text(pieces), |text| Self::Plain(Value::String(text)))
    }

    /// Turns a single variable into the type that belongs at a key.
    fn of_type_at(self, key: &str) -> Self {
        match self {
            Self::Mapping(parts) if key == FEATURES => {
                Self::Mapping(parts.into_iter().map(|(key, part)| (key, part.of_boolean())).collect())
            }
            Self::Text(_) if BOOLEANS.contains(&key) => self.of_boolean(),
            Self::Text(mut pieces) => match pieces.as_mut_slice() {
                [Piece::Variable(name)] if NUMBERS.contains(&key) => Self::Number(std::mem::take(name)),
                _ => Self::Text(pieces),
            },
            other => other,
        }
    }

    /// Turns a single variable into a boolean.
    fn of_boolean(self) -> Self {
        match self {
            Self::Text(mut pieces) => match pieces.as_mut_slice() {
                [Piece::Variable(name)] => Self::Boolean(std::mem::take(name)),
                _ => Self::Text(pieces),
            },
            other => other,
        }
    }

    /// Returns how many values the document for one row has, and how many bytes of text.
    pub(super) fn size(&self, row: &Row) -> (usize, usize) {
        match self {
            Self::Plain(value) => yaml::size_of(value),
            Self::Text(pieces) => {
                let lengths = pieces.iter().map(|piece| match piece {
                    Piece::Literal(literal) => literal.len(),
                    Piece::Variable(name) => value_of(name, row).map_or(0, str::len),
                });
                (1, lengths.sum::<usize>())
            }
            Self::Boolean(_) | Self::Number(_) => (1, 0),
            Self::List(parts) => yaml::total(parts.iter().map(|part| part.size(row))),
            Self::Mapping(parts) => yaml::total(parts.iter().map(|(key, part)| {
                let (values, text) = part.size(row);
                (values, text + key.as_str().map_or(0, str::len))
            })),
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Returns the document for one row.
    pub(super) fn fill(&self, row: &Row) -> Result<Value, Fault> {
        match self {
            Self::Plain(value) => Ok(value.clone()),
            Self::Text(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    text.push_str(match piece {
                        Piece::Literal(literal) => literal,
                        Piece::Variable(name) => value_of(name, row)?,
                    });
                }
                Ok(Value::String(text))
            }
            Self::Boolean(name) => value_of(name, row).map(boolean),
            Self::Number(name) => value_of(name, row).map(number),
            Self::List(parts) => {
                let fill = |(index, part): (usize, &Self)| part.fill(row).map_err(|f| f.inside(Step::Index(index)));
                parts.iter().enumerate().map(fill).collect::<Result<Vec<Value>, Fault>>().map(Value::Sequence)
            }
            Self::Mapping(parts) => {
                let mut map = Mapping::with_capacity(parts.len());
                for (key, part) in parts {
                    let step = || Step::Key(key.as_str().unwrap_or("?").to_owned());
                    map.insert(key.clone(), part.fill(row).map_err(|fault| fault.inside(step()))?);
                }
                Ok(Value::Mapping(map))
            }
        }
    }
}

/// Returns the value of a variable.
pub(super) fn value_of<'a>(name: &str, row: &'a Row) -> Result<&'a str, Fault> {
    let fault = |message| Err(Fault { steps: Vec::new(), message });
    match row.cells.get(name) {
        Some(Cell::Text(text)) => Ok(text),
        Some(Cell::Unusable(why)) => fault(format!("uses ${{{name}}}, whose value {why}")),
        None => fault(format!("uses ${{{name}}}, for which this host has no value")),
    }
}

/// Reads a boolean as NMState does elsewhere. Any other text stays text, which NMState refuses there.
fn boolean(text: &str) -> Value {
    let is = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match yaml::old_boolean(text) {
        Some(value) => Value::Bool(value),
        None if is(["true", "1"]) => Value::Bool(true),
        None if is(["false", "0"]) => Value::Bool(false),
        None => Value::String(text.to_owned()),
    }
}

/// Reads a number. Any other text stays text, which NMState refuses there.
fn number(text: &str) -> Value {
    text.parse::<u32>().map_or_else(|_| Value::String(text.to_owned()), |number| Value::Number(Number::from(number)))
}

/// Splits a text into pieces. `${name}` is a variable, whose name has no braces. `$${` stands for `${`, and every other `$` for itself.
fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, behind) = rest.split_at(at);
        literal.push_str(before);
        if let Some(behind) = behind.strip_prefix("$${") {
            literal.push_str("${");
            rest = behind;
        } else if let Some(behind) = behind.strip_prefix("${") {
            let Some((name, behind)) = behind.split_once('}') else {
                return Err("has ${ without a } behind it; write a literal ${ as $${".to_owned());
            };
            // A column may have any name, but the readers of tables remove blanks around it.
            if name.is_empty() || name.trim() != name || name.contains(|c: char| c == '{' || c.is_control()) {
                let name: String = name.chars().take(64).collect();
                let message = format!(
                    "has {:?}; write the name of a column between the braces, without blanks around it",
                    format!("${{{name}}}")
                );
                return Err(message + "; write a literal ${ as $${");
            }
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(Piece::Variable(name.to_owned()));
            rest = behind;
        } else {
            literal.push('$');
            rest = behind.get(1..).unwrap_or_default();
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}
