//! YAML and JSON text, read within bounds.
//!
//! The parser gives events with positions; [`values`] makes values of them, and [`places`](super::places) finds where
//! something stands. What aliases multiply is counted before it is copied.

mod budget;
mod json;
mod mapping;
mod problem;
mod readable;
mod scalar;
mod values;

use serde_yaml::Value;

use super::division;
use super::octals::Octal;
use super::shares;

pub(super) use budget::Budget;
pub(super) use problem::Problem;
pub(super) use readable::readable;
pub(super) use scalar::old_boolean;

/// How many bytes of a long stream one thread reads at a time: enough that to begin costs nothing beside it.
const STREAM: usize = 128 << 10;

/// What the parser leaves out of what we have no use for.
pub(super) fn options() -> granit_parser::Options {
    let mut options = granit_parser::Options::default();
    options.set_emit_comments(false);
    options
}

/// A document as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::input) struct Document {
    pub(in crate::input) value: Value,
    /// What other readers take for other numbers.
    pub(in crate::input) octals: Vec<Octal>,
}

/// All documents of a text: the one JSON value, or the YAML documents, of which empty ones are left out.
pub(in crate::input) fn documents(text: &[u8], budget: &mut Budget) -> Result<Vec<Document>, Problem> {
    budget.take_bytes(text.len())?;
    let text = readable(text)?;
    // Where it fails as JSON, what looked like JSON may be YAML in braces, and YAML's reader knows best what is wrong with it.
    if text.trim_start().starts_with(['{', '[']) {
        let saved = budget.clone();
        if let Some(value) = json::value(text, budget)? {
            return Ok(vec![Document { value, octals: Vec::new() }]);
        }
        *budget = saved;
    }
    divided(text, STREAM, budget)
}

/// The documents of a YAML stream, of which threads read about `size` bytes at a time. What is wrong, and where, is said by
/// who reads the whole.
pub(in crate::input) fn divided(text: &str, size: usize, budget: &mut Budget) -> Result<Vec<Document>, Problem> {
    let streams = division::streams(text, size);
    if let Some((read, left)) = shares::each(&streams, 1, budget, |text, budget| values::documents(text, budget))
        && let Ok(documents) = read.into_iter().collect::<Result<Vec<_>, _>>()
    {
        *budget = left;
        return Ok(documents.into_iter().flatten().collect());
    }
    values::documents(text, budget)
}

#[cfg(test)]
mod tests;
