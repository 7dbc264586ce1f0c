//! The configs within a config: Ignition merges those that `ignition.config.merge` names into it, and of two files with one path, that of
//! the named config wins ("Config Merging" in its operator notes). dayone sees only what the config itself has, in `data:` URLs, as
//! `coreos-installer iso customize` writes it.

use base64::prelude::*;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::values::values;
use crate::compression::Compression;

/// How many configs within each other dayone looks into.
const MAX_LEVELS: usize = 8;
/// How much dayone unpacks of all of them together, in bytes.
const MAX_BYTES: u64 = 8 << 20;
/// As how many more bytes a value counts, because it takes much more memory than its text.
const VALUE_BYTES: u64 = 64;

/// The resource that Ignition takes in the place of this config.
pub(super) fn replacement(root: &Map<String, Value>) -> Option<&Value> {
    let resource = root.get("ignition")?.pointer("/config/replace")?;
    resource.get("source").filter(|source| !source.is_null()).map(|_| resource)
}

/// The configs that Ignition merges into this one, each before those that win over it.
pub(super) fn within(root: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let (mut budget, mut found) = (MAX_BYTES, Vec::new());
    collect(root, MAX_LEVELS, &mut budget, &mut found);
    found
}

fn collect(root: &Map<String, Value>, levels: usize, budget: &mut u64, found: &mut Vec<Map<String, Value>>) {
    let Some(below) = levels.checked_sub(1) else { return };
    let resources = root.get("ignition").and_then(|ignition| ignition.pointer("/config/merge"));
    for resource in resources.and_then(Value::as_array).into_iter().flatten() {
        if let Some(config) = config_in(resource, below, budget) {
            let mut deeper = Vec::new();
            collect(&config, below, budget, &mut deeper);
            found.push(config);
            found.append(&mut deeper);
        }
    }
}

/// The config in a resource, or the one in its place.
fn config_in(resource: &Value, levels: usize, budget: &mut u64) -> Option<Map<String, Value>> {
    let config: Map<String, Value> = serde_json::from_slice(&content(resource, budget)?).ok()?;
    match replacement(&config) {
        Some(other) => config_in(other, levels.checked_sub(1)?, budget),
        None => Some(config),
    }
}

/// The content of a resource with a `data:` URL (RFC 2397). One that cannot be unpacked, or that is too large then, takes all that is left of the
/// budget.
fn content(resource: &Value, budget: &mut u64) -> Option<Vec<u8>> {
    let (scheme, rest) = resource.get("source")?.as_str()?.split_once(':')?;
    let (kind, data) = rest.split_once(',').filter(|_| scheme.eq_ignore_ascii_case("data"))?;
    let mut content: Vec<u8> = percent_decode_str(data).collect();
    if kind.ends_with(";base64") {
        content = BASE64_STANDARD.decode(content).ok()?;
    }
    let unpacked = match resource.get("compression").and_then(Value::as_str) {
        Some("gzip") => Compression::Gzip.decompress(&content, *budget).ok(),
        _ => Some(content),
    };
    let cost = |content: &Vec<u8>| VALUE_BYTES * values(content) as u64 + content.len() as u64;
    let unpacked = unpacked.filter(|content| cost(content) <= *budget);
    *budget = unpacked.as_ref().map_or(0, |content| *budget - cost(content));
    unpacked
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    fn merging(resources: &[Value]) -> Value {
        json!({"ignition": {"version": "3.3.0", "config": {"merge": resources}}})
    }

    fn base64(config: &Value) -> Value {
        json!({"source": format!("data:;base64,{}", BASE64_STANDARD.encode(config.to_string()))})
    }

    #[test]
    fn configs_in_urls_are_found_in_every_form() {
        let config = |name: &str| json!({"x": name});
        let packed = Compression::Gzip.compress(config("c").to_string().as_bytes()).unwrap();
        let packed = format!("data:;base64,{}", BASE64_STANDARD.encode(packed));
        let replaced = json!({"x": "no", "ignition": {"config": {"replace": base64(&config("e"))}}});
        let unknown = json!({"x": "no", "ignition": {"config": {"replace": {"source": "https://a/b"}}}});
        let root = object(merging(&[
            json!({"source": "data:,%7B%22x%22:%22a%22%7d"}),
            json!({"source": "DATA:application/json;charset=utf-8,{\"x\":\"b\"}"}),
            json!({"source": packed, "compression": "gzip"}),
            base64(&merging(&[base64(&config("d"))])),
            base64(&replaced),
            base64(&unknown),
            json!({"source": "https://a/b"}),
            json!({"source": "data:;base64,%"}),
            json!({"source": null}),
            json!("data:,{}"),
        ]));
        let found: Vec<_> = within(&root).iter().map(|config| config.get("x").cloned().unwrap_or_default()).collect();
        assert_eq!(Value::from(found), json!(["a", "b", "c", null, "d", "e"]));
        assert!(within(&object(json!({"ignition": {"config": null}}))).is_empty());
    }

    #[test]
    fn not_everything_is_unpacked() {
        let nested = (0..20).fold(json!({}), |config, _| merging(&[base64(&config)]));
        assert_eq!(within(&object(nested)).len(), MAX_LEVELS);
        let large = json!({"x": "0".repeat(3 << 20)}).to_string();
        let packed = BASE64_STANDARD.encode(Compression::Gzip.compress(large.as_bytes()).unwrap());
        let packed = json!({"source": format!("data:;base64,{packed}"), "compression": "gzip"});
        assert_eq!(within(&object(merging(&vec![packed; 100]))).len(), 2);
        let many = format!("{{\"x\": [{}0]}}", "[0],".repeat(100_000));
        let packed = BASE64_STANDARD.encode(Compression::Gzip.compress(many.as_bytes()).unwrap());
        let packed = json!({"source": format!("data:;base64,{packed}"), "compression": "gzip"});
        assert!(within(&object(merging(&[packed]))).is_empty());
    }
}
