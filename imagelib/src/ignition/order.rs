//! The canonical order of an Ignition config.

use serde_json::{Map, Value};

use super::ssh::material;

/// See [`UserConfig::ordered`](super::UserConfig::ordered).
pub(super) fn ordered(root: &Map<String, Value>) -> Map<String, Value> {
    let mut root = root.clone();
    sort_keys(&mut root);
    if let Some(files) = list(&mut root, "storage", "files") {
        files.sort_by(|a, b| text(a, "path").cmp(text(b, "path")));
    }
    if let Some(units) = list(&mut root, "systemd", "units") {
        units.sort_by(|a, b| text(a, "name").cmp(text(b, "name")));
        for unit in units {
            if let Some(Value::Array(dropins)) = unit.get_mut("dropins") {
                dropins.sort_by(|a, b| text(a, "name").cmp(text(b, "name")));
            }
        }
    }
    for user in list(&mut root, "passwd", "users").into_iter().flatten() {
        if let Some(Value::Array(keys)) = user.get_mut("sshAuthorizedKeys") {
            keys.sort_by(|a, b| key(a).cmp(&key(b)));
        }
    }
    root
}

fn sort_keys(object: &mut Map<String, Value>) {
    object.sort_keys();
    object.values_mut().for_each(sort_within);
}

fn sort_within(value: &mut Value) {
    match value {
        Value::Object(object) => sort_keys(object),
        Value::Array(items) => items.iter_mut().for_each(sort_within),
        _ => {}
    }
}

fn list<'r>(root: &'r mut Map<String, Value>, section: &str, name: &str) -> Option<&'r mut Vec<Value>> {
    root.get_mut(section)?.get_mut(name)?.as_array_mut()
}

pub(super) fn text<'v>(item: &'v Value, name: &str) -> &'v str {
    item.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Lines with the same key are equal, so that they keep their order. What is no key stands behind, by its text.
fn key(line: &Value) -> (bool, (&str, &str)) {
    let line = line.as_str().unwrap_or_default();
    let found = material(line);
    (found.is_none(), found.unwrap_or((line, "")))
}
