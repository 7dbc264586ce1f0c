//! Errors that make a whole text unreadable.

use std::fmt;

use granit_parser::{ErrorKind, ScanError};
use vocabulary::report::LineColumn;

use super::limits::Limits;

/// An error in a text, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) struct Problem {
    pub(in crate::input) code: &'static str,
    pub(in crate::input) position: Option<LineColumn>,
    /// A sentence whose subject is the document. It may contain keys of the document, but no values.
    pub(in crate::input) message: String,
}

impl Problem {
    pub(in crate::input) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, position: None, message: message.into() }
    }

    pub(super) fn too_much() -> Self {
        Self::new(
            "input-too-large",
            "describes more than dayone can read at once (aliases count as their content; templates, policies, tables and Secrets \
             count again for each host or fleet that uses them); hand over fewer hosts",
        )
    }

    pub(super) fn too_deep() -> Self {
        Self::new("invalid-yaml", format!("is nested more than {} levels deep", Limits::DEPTH))
    }

    /// Makes a problem of the parser's error. Its messages are fixed and contain at most one character of the text.
    pub(super) fn syntax(error: &ScanError, text: &str) -> Self {
        let (line, column) = (error.marker().line(), error.marker().col());
        let tab = text.lines().nth(line.saturating_sub(1)).and_then(|line| line.chars().position(|c| c == '\t'));
        match (error.kind(), tab) {
            (ErrorKind::RecursionLimitExceeded, _) => Self::too_deep().at(LineColumn { line, column: column + 1 }),
            // The parser's position may be behind the tab.
            (ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation, Some(tab)) => {
                Self::new("invalid-yaml", "is not YAML: a tab where YAML wants spaces")
                    .at(LineColumn { line, column: tab + 1 })
            }
            (kind, _) => {
                Self::new("invalid-yaml", format!("is not YAML: {kind}")).at(LineColumn { line, column: column + 1 })
            }
        }
    }

    /// Sets the position.
    pub(super) fn at(self, position: LineColumn) -> Self {
        Self { position: Some(position), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.position {
            Some(LineColumn { line, column }) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}
