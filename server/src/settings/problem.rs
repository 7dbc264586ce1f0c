//! What is wrong with settings, and where.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use vocabulary::report::{LineColumn, Severity};
use vocabulary::text::one_line;
use vocabulary::url_credentials;

use super::Origin;

/// Something wrong with a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Whether the server would not work with it.
    pub severity: Severity,
    /// A stable name, such as `unknown-setting`.
    pub code: &'static str,
    /// Where the value is.
    pub place: Place,
    /// The problem, as a sentence in one line. It contains no secret.
    pub message: String,
    /// What to do.
    pub fix: String,
}

/// Where a problem is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// In a file.
    File {
        /// The settings file.
        path: PathBuf,
        /// The line and the column.
        #[serde(flatten)]
        at: LineColumn,
    },
    /// In this variable.
    Environment(String),
    /// In this option of the command line.
    Flag(String),
    /// The value of this setting is its default.
    Default(String),
}

impl Place {
    /// The place of the setting `key`, whose value comes from `origin`.
    pub(crate) fn of(key: &str, origin: &Origin) -> Self {
        match origin {
            Origin::Default => Self::Default(key.to_owned()),
            Origin::File { path, at } => Self::File { path: path.clone(), at: *at },
            Origin::Environment(variable) => Self::Environment(variable.clone()),
            Origin::Flag(flag) => Self::Flag(flag.clone()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, at } => write!(f, "{}:{}:{}", path.display(), at.line, at.column),
            Self::Environment(variable) => write!(f, "variable {variable}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Default(key) => write!(f, "{key} (default)"),
        }
    }
}

impl Problem {
    /// An error: the server does not start, or cannot do its work.
    pub(crate) fn error(code: &'static str, place: Place, message: impl Into<String>, fix: impl Into<String>) -> Self {
        // A value may be a URL with a password, and the reason why it is wrong may quote it again.
        let shown = |text: String| one_line(&url_credentials::hide_with_queries(&text));
        let (message, fix) = (shown(message.into()), shown(fix.into()));
        Self { severity: Severity::Error, code, place, message, fix }
    }

    /// A warning: it is likely that this is not what the user wants.
    pub(crate) fn warning(
        code: &'static str,
        place: Place,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, place, message, fix) }
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    /// One line, without the severity: place, message and fix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        if self.fix.is_empty() { Ok(()) } else { write!(f, "; {}", self.fix) }
    }
}
