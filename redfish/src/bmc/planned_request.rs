//! A request in words, before it is sent.

use serde::Serialize;
use serde_json::Value;

/// A request that would be sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedRequest {
    /// `POST` or `PATCH`.
    pub method: &'static str,
    /// Where to.
    pub path: String,
    /// What.
    pub body: Value,
}
