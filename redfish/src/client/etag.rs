//! What BMCs take for `If-Match`.

use serde_json::Value;

use super::answer::Resource;

/// What is worth trying, one after the other, when a BMC does not take the `ETag` that it gave: the other one of header
/// and body, where the header's has quotes too many; without `W/`, which `If-Match` rules out (RFC 9110 §13.1.1) though
/// BMCs give nothing else; no `If-Match` at all; and any `ETag`.
pub(super) fn candidates(resource: &Resource) -> Vec<Option<String>> {
    let body = resource.body.get("@odata.etag").and_then(Value::as_str);
    let given = [resource.etag.as_deref(), body];
    let strong = given.map(|etag| etag.and_then(|etag| etag.strip_prefix("W/")));
    let mut candidates: Vec<Option<String>> = Vec::new();
    for etag in given.into_iter().chain(strong).flatten().map(Some).chain([None, Some("*")]) {
        let etag = etag.map(str::to_owned);
        if !candidates.contains(&etag) {
            candidates.push(etag);
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_firmware_was_seen_to_want_is_tried_once() {
        let resource =
            |etag: Option<&str>, body: Value| Resource { path: String::new(), body, etag: etag.map(str::to_owned) };
        let tried = |resource: &Resource| -> Vec<String> {
            candidates(resource).into_iter().map(|etag| etag.unwrap_or_else(|| "none".to_owned())).collect()
        };
        assert_eq!(tried(&resource(Some("\"a\""), json!({}))), ["\"a\"", "none", "*"]);
        assert_eq!(
            tried(&resource(Some("W/\"a\""), json!({"@odata.etag": "W/\"a\""}))),
            ["W/\"a\"", "\"a\"", "none", "*"]
        );
        assert_eq!(
            tried(&resource(Some("\"\"a\"\""), json!({"@odata.etag": "\"a\""}))),
            ["\"\"a\"\"", "\"a\"", "none", "*"]
        );
        assert_eq!(tried(&resource(None, json!({}))), ["none", "*"]);
    }
}
