//! Splits a stream into documents, so that only those with findings must be read completely.

use granit_parser::{Event, Parser, ScalarStyle};

use super::super::yaml::{self, split};

/// A part of a stream that contains a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'t> {
    /// The number of the document in the stream (from 1, empty ones not counted).
    pub(super) number: usize,
    pub(super) text: &'t str,
    /// How many lines of the stream are before it.
    pub(super) line: usize,
    /// The index of the document in the part (from 0, empty ones counted).
    pub(super) index: usize,
}

/// Returns the first `most` documents of `text`.
pub(super) fn parts(text: &str, most: usize) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for (line, text) in split::parts(text) {
        for (index, is_empty) in documents(text).enumerate() {
            if parts.len() >= most {
                return parts;
            }
            if !is_empty {
                parts.push(Part { number: parts.len() + 1, text, line, index });
            }
        }
    }
    parts
}

/// Returns for each document of `text` whether it is empty. The iterator parses no more than it needs.
fn documents(text: &str) -> impl Iterator<Item = bool> {
    let mut events = Parser::new_from_str_with_options(text, yaml::options()).map_while(Result::ok);
    let mut previous_began = false;
    std::iter::from_fn(move || {
        loop {
            let (event, _) = events.next()?;
            let begins = matches!(event, Event::DocumentStart(..));
            if std::mem::replace(&mut previous_began, begins) {
                return Some(is_null(&event));
            }
        }
    })
}

/// Whether the document that begins with this node is null. The reader ignores such documents.
fn is_null(event: &Event<'_>) -> bool {
    match event {
        Event::Scalar(text, ScalarStyle::Plain, _, None) => {
            matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL")
        }
        Event::Scalar(.., Some(tag)) => tag.is_yaml_core_schema_tag("null"),
        _ => false,
    }
}
