//! The requests of an API server, from its audit log.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A request that the server has answered, or a watch that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verb: String,
    /// The resource, such as `preprovisioningimages`. Empty if the request is for no resource.
    pub resource: String,
    /// The subresource, such as `status`, or empty.
    pub subresource: String,
    /// Empty where there is none.
    pub namespace: String,
    /// Empty where there is none.
    pub name: String,
    /// The status of the answer.
    pub code: u64,
    /// The path and the query.
    pub uri: String,
}

/// The audit policy: log each request when it is answered, without its body.
pub(super) const POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "None", "users": ["system:apiserver"]}, {"level": "Metadata"}]}
"#;

/// Returns the requests of `user`, oldest first.
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
