//! Who has asked an API server for what, by its own audit log.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A request that was answered; a watch, one that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verb: String,
    /// Such as `preprovisioningimages`; empty where the request is for no resource.
    pub resource: String,
    /// Such as `status`, or empty.
    pub subresource: String,
    /// Empty where there is none.
    pub namespace: String,
    /// Empty where there is none.
    pub name: String,
    /// The status of the answer.
    pub code: u64,
    /// Path and query.
    pub uri: String,
}

/// What is logged: no bodies, and each request when it is answered.
pub(super) const POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "None", "users": ["system:apiserver"]}, {"level": "Metadata"}]}
"#;

/// The requests of `user`, oldest first.
pub(super) fn read(log: &Path, user: &str) -> Vec<Request> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let mut seen = std::collections::HashSet::new();
    let mut requests = Vec::new();
    // The last line may be half written.
    for event in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        // Of a watch there are two events.
        if event["user"]["username"] == user && seen.insert(event["auditID"].to_string()) {
            requests.push(request(&event));
        }
    }
    requests
}

fn request(event: &Value) -> Request {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &event["objectRef"];
    Request {
        verb: text(&event["verb"]),
        resource: text(&object["resource"]),
        subresource: text(&object["subresource"]),
        namespace: text(&object["namespace"]),
        name: text(&object["name"]),
        code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
        uri: text(&event["requestURI"]),
    }
}
