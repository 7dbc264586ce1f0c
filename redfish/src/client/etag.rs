//! The values of `If-Match` that BMCs accept.

use serde_json::Value;

use super::answer::{Resource, is_sendable};

/// The values to try, in this order, if a BMC refuses the `ETag` that it gave:
///
/// 1. that of the header, and that of the body: some BMCs write additional quotation marks in the header;
/// 2. these without `W/`: `If-Match` excludes weak tags (RFC 9110 §13.1.1), but some BMCs give no others;
/// 3. no `If-Match` at all;
/// 4. `*`.
pub(super) fn candidates(resource: &Resource) -> Vec<Option<String>> {
    let body = resource.body.get("@odata.etag").and_then(Value::as_str).filter(|etag| is_sendable(etag));
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
    fn every_known_form_of_an_etag_is_tried_once() {
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
        assert_eq!(tried(&resource(None, json!({"@odata.etag": "\"a\"\n"}))), ["none", "*"]);
    }
}
