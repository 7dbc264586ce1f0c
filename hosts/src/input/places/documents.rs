//! The documents of a stream, one by one: only those that are wanted have to be read in full.

use granit_parser::{Event, Parser, ScalarStyle};

use super::super::{division, yaml};

/// A part of a stream that holds a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'t> {
    /// Which of the stream's documents it holds: from 1, empty ones not counted.
    pub(super) number: usize,
    pub(super) text: &'t str,
    /// How many lines of the stream are before it.
    pub(super) line: usize,
    /// Which of the part's own documents it is, empty ones counted: from 0.
    pub(super) index: usize,
}

/// The documents of `text`, the first `most` of them.
pub(super) fn parts(text: &str, most: usize) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for (line, text) in division::parts(text) {
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

/// For each document of `text`, whether it is empty. Where there is one at most, only its beginning is looked at.
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

/// Whether the document that begins with this node is nothing but null, which is no document.
fn is_null(event: &Event<'_>) -> bool {
    match event {
        Event::Scalar(text, ScalarStyle::Plain, _, None) => {
            matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL")
        }
        Event::Scalar(.., Some(tag)) => tag.is_yaml_core_schema_tag("null"),
        _ => false,
    }
}
