//! Reads YAML and JSON within a budget.
//!
//! The parser gives events with positions. [`values`] makes values of them; [`positions`](super::positions) finds the
//! positions of findings. A repeated alias counts against the budget before it is copied.

mod ambiguous;
mod budget;
pub(super) mod invalid;
mod json;
mod limits;
mod mapping;
pub(super) mod merge_order;
pub(super) mod octals;
pub(super) mod old_booleans;
pub(super) mod parallel;
mod problem;
mod readable;
mod scalar;
pub(super) mod split;
mod values;

use serde_yaml::Value;

use invalid::InvalidValue;

pub(super) use ambiguous::Ambiguous;
pub(super) use budget::{Budget, size_of, size_of_members, total};
pub use limits::Limits;
pub(super) use problem::Problem;
pub(super) use readable::readable;
pub(super) use scalar::old_boolean;

/// How many bytes of a long stream a thread reads at a time. Starting the work costs nothing compared with that.
const STREAM: usize = 128 << 10;

/// Returns the parser's options.
pub(super) fn options() -> granit_parser::Options {
    let mut options = granit_parser::Options::default();
    options.set_emit_comments(false);
    options
}

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::input) struct Document {
    pub(in crate::input) value: Value,
    /// What other readers read differently.
    pub(in crate::input) ambiguous: Vec<Ambiguous>,
}

/// Reads the documents of a text: one JSON value, or YAML documents without the empty ones.
pub(in crate::input) fn documents(text: &[u8], budget: &mut Budget) -> Result<Vec<Document>, Problem> {
    budget.take_bytes(text.len())?;
    let text = readable(text)?;
    // If it is not JSON, it may be YAML in braces. If it is neither, YAML's reader gives the better error.
    if text.trim_start().starts_with(['{', '[']) {
        let saved = budget.clone();
        if let Some(value) = json::value(text, budget)? {
            return Ok(vec![Document { value, ambiguous: Vec::new() }]);
        }
        *budget = saved;
    }
    divided(text, STREAM, budget)
}

/// Reads the documents of a YAML stream on several threads, about `size` bytes at a time. If there is any problem, one thread
/// reads the whole stream again to report it.
pub(in crate::input) fn divided(text: &str, size: usize, budget: &mut Budget) -> Result<Vec<Document>, Problem> {
    let streams = split::streams(text, size);
    if streams.len() > 1 {
        let mut left = budget.clone();
        let read = parallel::each(&streams, 1, &mut left, |text, budget| values::documents(text, budget));
        if let Ok(documents) = read.into_iter().collect::<Result<Vec<_>, _>>() {
            *budget = left;
            return Ok(documents.into_iter().flatten().collect());
        }
    }
    values::documents(text, budget)
}

#[cfg(test)]
mod tests;
