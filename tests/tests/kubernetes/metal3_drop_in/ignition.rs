//! Ignition configs as text that people can compare.

use std::fmt::Write as _;
use std::fs;

use acceptance::bases::fixtures;
use acceptance::data_url;
use serde_json::Value;

/// Every file with its mode and with what becomes of one that is there, every unit and every user, in their order.
pub fn shown(config: &Value) -> String {
    let each = |pointer: &str| config.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut text = format!("Ignition {}\n", config["ignition"]["version"]);
    for file in each("/storage/files") {
        let mode = file["mode"].as_u64().map_or("(none)".to_owned(), |mode| format!("{mode:04o}"));
        let (existing, contents) = match (&file["append"][0], &file["overwrite"]) {
            (Value::Null, overwrite) => (format!("overwrite {overwrite}"), &file["contents"]),
            (append, Value::Null) => ("append".to_owned(), append),
            _ => panic!("appends and overwrites: {file:#}"),
        };
        let source = contents["source"].as_str().unwrap();
        let kind = source.split(',').next().unwrap();
        section(&mut text, &format!("{} {mode} {existing} {kind}", file["path"]), &data_url::text(source));
    }
    for unit in each("/systemd/units") {
        let title = format!("{} enabled {}", unit["name"], unit["enabled"]);
        section(&mut text, &title, unit["contents"].as_str().unwrap());
    }
    for user in each("/passwd/users") {
        section(&mut text, "user", &user.to_string());
    }
    text
}

/// The content of a file of a config.
pub fn content(config: &Value, path: &str) -> String {
    let files = config["storage"]["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{path}: {config:#}"));
    data_url::text(file["contents"]["source"].as_str().unwrap())
}

/// Compares with a file of `fixtures/metal3`, which `UPDATE_GOLDEN=1` rewrites.
pub fn assert_is_golden(text: &str, name: &str) {
    let path = fixtures("metal3").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap_or_default(), "{}; UPDATE_GOLDEN=1 rewrites it", path.display());
}

fn section(text: &mut String, title: &str, content: &str) {
    // What has no line break at its end is shown to have none.
    let end = if content.ends_with('\n') { "" } else { "\\\n" };
    write!(text, "\n=== {title}\n{content}{end}").unwrap();
}
