//! Files that the user gives to a command.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A file to read, or the standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFile {
    /// Written as `-`.
    StandardInput,
    /// The path of a file; a file with the name `-` is written as `./-`.
    Path(PathBuf),
}

impl FromStr for InputFile {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "-" { Self::StandardInput } else { Self::Path(text.into()) })
    }
}

impl fmt::Display for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandardInput => f.write_str("standard input"),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}
