//! Files that the user gives to a command.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// A file to read, or the standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFile {
    /// Written as `-`.
    StandardInput,
    /// The path of a file; a file with the name `-` is written as `./-`.
    Path(PathBuf),
}

/// The command line's parser takes it from here: a path need not be UTF-8.
impl From<OsString> for InputFile {
    fn from(argument: OsString) -> Self {
        if argument == "-" { Self::StandardInput } else { Self::Path(argument.into()) }
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
