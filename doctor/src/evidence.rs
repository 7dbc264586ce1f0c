//! The evidence of a finding.

use serde::Serialize;

/// A request, and the answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The request, without the path, because that is a secret on some servers.
    pub request: String,
    /// The version of HTTP, the status and some headers of the answer.
    pub answer: String,
}
