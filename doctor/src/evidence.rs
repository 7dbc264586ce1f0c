//! What a finding stands on.

use serde::Serialize;

/// What was asked, and what came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The request, without the path, which is a secret on some servers.
    pub request: String,
    /// The beginning of the answer.
    pub answer: String,
}
