//! A request that has not been sent.

use serde::Serialize;
use serde_json::Value;

/// A request that a [`Plan`](super::Plan) will send.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedRequest {
    /// `POST` or `PATCH`.
    pub method: &'static str,
    /// The path of the resource or of the action.
    pub path: String,
    /// The JSON body.
    pub body: Value,
}
