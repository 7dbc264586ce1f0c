//! How far a running step has come: shown, and not kept.

/// How far the running step has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// For people.
    pub text: Option<String>,
}

impl Progress {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()) }
    }
}
