//! The values that a server uses, and where each comes from.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};
use vocabulary::report::LineColumn;
use vocabulary::url_credentials;

use crate::store::BaseDefinition;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody has set it.
    Default,
    /// A settings file.
    File {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        at: LineColumn,
    },
    /// This variable.
    Environment(String),
    /// This option.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, at } => write!(f, "{}:{}", path.display(), at.line),
            Self::Environment(variable) => write!(f, "environment ({variable})"),
            Self::Flag(flag) => write!(f, "command line ({flag})"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// None, and what the server does without it.
    Unset(Option<String>),
    /// One text.
    One(String),
    /// Several texts.
    List(Vec<String>),
    /// The bases, each with where it comes from.
    Bases(Vec<(BaseDefinition, Origin)>),
    /// A secret, which is set.
    Secret,
}

impl Value {
    /// Whether there is a value, also one that is the default.
    pub(super) fn is_set(&self) -> bool {
        !matches!(self, Self::Unset(_))
    }

    /// The value as a person reads it, without passwords.
    pub fn shown(&self) -> String {
        match self {
            Self::Unset(None) => "-".to_owned(),
            Self::Unset(Some(default)) => format!("({default})"),
            Self::One(text) => url_credentials::hide(text),
            Self::List(texts) => texts.iter().map(|text| url_credentials::hide(text)).collect::<Vec<_>>().join(", "),
            Self::Bases(bases) if bases.is_empty() => "-".to_owned(),
            Self::Bases(bases) => {
                let names: Vec<&str> = bases.iter().map(|(base, _)| base.name.as_str()).collect();
                names.join(", ")
            }
            Self::Secret => "(hidden)".to_owned(),
        }
    }
}

/// A setting with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// The name in a settings file, or the name of a secret variable.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Where the value comes from.
    pub origin: Origin,
    /// Whether a running server takes a changed value over on SIGHUP.
    pub is_reloaded: bool,
}
