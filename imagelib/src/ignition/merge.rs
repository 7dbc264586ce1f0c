//! Merges dayone's additions and the user's config.

use std::collections::BTreeSet;

use base64::prelude::*;
use serde_json::{Map, Value, json};

use super::files::{added, check};
use super::{AddedFile, Additions, FileMode, IgnitionError, UserConfig};

/// The user of every CoreOS.
const USER: &str = "core";
/// The oldest spec written.
const OLDEST: u32 = 2;
/// The first spec whose modes have setuid, setgid and sticky bits; before, Ignition clears them.
const SPECIAL_MODES: u32 = 4;

/// Merges the additions into the user's config. Returns compact JSON, the same for the same inputs. The additions follow the
/// user's entries, which do not change. Only the SSH keys of the user `core` are merged; any other conflict is an error that
/// names it.
pub fn config(additions: &Additions, user: Option<&UserConfig>) -> Result<Vec<u8>, IgnitionError> {
    let files = added(additions);
    check(additions, &files, user)?;
    let minor = version(&files, user)?;
    let mut root = user.map(|user| user.root().clone()).unwrap_or_default();
    section(&mut root, "ignition")?.insert("version".into(), format!("3.{minor}.0").into());
    add_keys(&mut root, additions)?;
    if !files.is_empty() {
        list(&mut root, "storage", "files")?.extend(files.iter().map(to_json));
    }
    if !additions.units.is_empty() {
        let units = additions.units.iter().map(|unit| match &unit.contents {
            Some(contents) => json!({"name": unit.name, "enabled": unit.enabled, "contents": contents}),
            None => json!({"name": unit.name, "enabled": unit.enabled}),
        });
        list(&mut root, "systemd", "units")?.extend(units);
    }
    Ok(Value::Object(root).to_string().into_bytes())
}

fn to_json(file: &AddedFile) -> Value {
    let source = if file.contents.is_empty() {
        "data:,".to_owned()
    } else {
        format!("data:;base64,{}", BASE64_STANDARD.encode(&file.contents))
    };
    let mut json = json!({"path": file.path, "mode": file.mode, "overwrite": true, "contents": {"source": source}});
    for (key, number) in [("user", file.owner.user), ("group", file.owner.group)] {
        if let (true, Some(object)) = (number != 0, json.as_object_mut()) {
            object.insert(key.to_owned(), json!({ "id": number }));
        }
    }
    json
}

/// The minor version of the spec. A user's config is raised only to [`OLDEST`], up to which no field changed its meaning, and not at all if
/// it has keys that its spec does not define: Ignition ignores them, and a later spec may define them.
fn version(files: &[AddedFile], user: Option<&UserConfig>) -> Result<u32, IgnitionError> {
    let special = files.iter().find(|file| file.mode > 0o777);
    match (special, user.map(UserConfig::minor)) {
        (Some(file), Some(minor)) if minor < SPECIAL_MODES => {
            let mode = FileMode::try_from(file.mode).unwrap_or_default().to_string();
            Err(IgnitionError::SpecialMode { path: file.path.to_string(), mode })
        }
        (Some(_), None) => Ok(SPECIAL_MODES),
        (_, Some(minor)) if user.is_some_and(|user| !user.unused_keys().is_empty()) => Ok(minor),
        (_, minor) => Ok(minor.unwrap_or_default().max(OLDEST)),
    }
}

fn add_keys(root: &mut Map<String, Value>, additions: &Additions) -> Result<(), IgnitionError> {
    if additions.ssh_authorized_keys.is_empty() {
        return Ok(());
    }
    let users = list(root, "passwd", "users")?;
    let is_core = |user: &Value| user.get("name").and_then(Value::as_str) == Some(USER);
    if !users.iter().any(is_core) {
        users.push(json!({"name": USER}));
    }
    let shape = || IgnitionError::Shape("passwd.users".into());
    let user = users.iter_mut().find(|user| is_core(user)).and_then(Value::as_object_mut).ok_or_else(shape)?;
    let keys = user.entry("sshAuthorizedKeys").or_insert(Value::Null);
    if keys.is_null() {
        *keys = json!([]);
    }
    let keys = keys.as_array_mut().ok_or_else(shape)?;
    let mut present: BTreeSet<String> = keys.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    for key in &additions.ssh_authorized_keys {
        // Ignition refuses a key that is there twice.
        if present.insert(key.as_str().to_owned()) {
            keys.push(key.as_str().into());
        }
    }
    Ok(())
}

/// The object `name`, made if need be: to Ignition `null` and nothing are the same.
fn section<'r>(root: &'r mut Map<String, Value>, name: &str) -> Result<&'r mut Map<String, Value>, IgnitionError> {
    let section = root.entry(name).or_insert(Value::Null);
    if section.is_null() {
        *section = json!({});
    }
    section.as_object_mut().ok_or_else(|| IgnitionError::Shape(name.into()))
}

/// The array `name` of a section, made if need be.
fn list<'r>(root: &'r mut Map<String, Value>, of: &str, name: &str) -> Result<&'r mut Vec<Value>, IgnitionError> {
    let list = section(root, of)?.entry(name).or_insert(Value::Null);
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut().ok_or_else(|| IgnitionError::Shape(format!("{of}.{name}")))
}
