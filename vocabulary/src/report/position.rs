//! Lines and columns of findings.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A place in one of the user's texts. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct Position {
    /// The file, if the text has a file name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[schema(example = 31)]
    pub line: usize,
    /// The column.
    #[schema(example = 9)]
    pub column: usize,
    /// The place within the text that begins here, if the lines of that text are not the lines of the file: a document in
    /// base64, in quotes or folded.
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
    /// The beginning of a text.
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
