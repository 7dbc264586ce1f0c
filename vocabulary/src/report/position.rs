//! Where in a text something stands.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A place in a text that the user handed over. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct Position {
    /// The file, where the text was handed over as a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[schema(example = 31)]
    pub line: usize,
    /// The column.
    #[schema(example = 9)]
    pub column: usize,
    /// The place within the text that begins here, where a document is held as text whose lines are not those of the file:
    /// in base64, in quotes, folded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<LineColumn>,
}

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct LineColumn {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl LineColumn {
    /// Where a text begins.
    pub const FIRST: Self = Self { line: 1, column: 1 };
}

impl std::fmt::Display for Position {
    /// `worker-0.yaml:31:9`, or `line 31, column 9` without a file.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}:{}:{}", self.line, self.column)?,
            None => write!(f, "line {}, column {}", self.line, self.column)?,
        }
        match self.within {
            Some(LineColumn { line, column }) => write!(f, " (line {line}, column {column} of the text there)"),
            None => Ok(()),
        }
    }
}
