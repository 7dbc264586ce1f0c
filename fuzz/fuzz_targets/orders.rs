//! Any bytes as a request in JSON for an image, for boots or for a base: no panic, a short error that names a line of the request, and
//! the same answer each time. No secret of a request is in its error, or in what `Debug` shows of it. The record of a base is read again.
#![no_main]

use base64::prelude::*;
use dayone::api::problem::Problem;
use dayone::fuzzing::{base_order, boot_order, image_order, rewrite_base_record};
use libfuzzer_sys::fuzz_target;
use redfish::BmcAddress;
use serde_json::{Value, json};

/// Valid as a name, as the value of a kernel argument and in base64, so that it gets far.
const SECRET: &str = "s3cr3tmarker0000";

/// Members whose values are names, paths, addresses, digests and modes. Errors quote these, so that the client finds them.
const SHOWN: [&str; 11] =
    ["base", "host", "hostname", "image", "mode", "name", "only_from", "path", "publisher", "sha256", "version"];

fuzz_target!(|data: &[u8]| {
    let Some(([kind, place, form], json)) = data.split_first_chunk() else { return };
    let read = match kind % 3 {
        0 => image_order,
        1 => boot_order,
        _ => base,
    };
    let first = check(read, json);
    assert!(first == check(read, json), "two answers to the same bytes");

    let Ok(mut request) = serde_json::from_slice::<Value>(json) else { return };
    if request.to_string().contains(SECRET) {
        return;
    }
    let mut places = Vec::new();
    find(&request, &mut Vec::new(), &mut places);
    let Some(chosen) = places.get(usize::from(*place) % places.len().max(1)) else { return };
    let Some(value) = request.pointer_mut(&format!("/{}", chosen.join("/"))) else { return };
    let is_base = kind % 3 == 2;
    *value = with_secret(value, chosen, is_base, *form);
    if let Some(address) = request.pointer("/bmc/address").and_then(Value::as_str) {
        let shown =
            address.parse::<BmcAddress>().map_or_else(|error| error.to_string(), |address| format!("{address:?}"));
        assert!(!shown.contains(SECRET), "{shown}");
    }
    let changed = request.to_string();
    let shown = check(read, changed.as_bytes()).unwrap_or_else(|error| error);
    assert!(!shown.contains(SECRET), "{shown}\n{changed}");
});

/// Reads a base, and its record again.
fn base(json: &[u8]) -> Result<String, Problem> {
    let (shown, record) = base_order(json)?;
    let again = rewrite_base_record(&record).expect("a record that dayone wrote can be read");
    assert!(again == record, "{}\n{}", String::from_utf8_lossy(&record), String::from_utf8_lossy(&again));
    Ok(shown)
}

/// Reads a request. Returns what `Debug` shows of it, or everything that the error has for the client and for the log.
fn check(read: fn(&[u8]) -> Result<String, Problem>, json: &[u8]) -> Result<String, String> {
    read(json).map_err(|problem| {
        let detail = problem.detail();
        // An error about a path of an Ignition config has one of up to 4 KiB.
        assert!(detail.len() < 5000, "{} bytes: {detail}", detail.len());
        // Only the reader of JSON names lines, and it does so at the beginning.
        let line = detail.split_once(": line ").and_then(|(_, rest)| rest.split_once(", column "));
        if let (Some((line, _)), true) = (line, detail.starts_with("the JSON of the request is not valid: line ")) {
            let line: usize = line.parse().expect("a number");
            let lines = json.iter().filter(|byte| **byte == b'\n').count() + 1;
            assert!((1..=lines).contains(&line), "{detail}");
        }
        format!("{problem:?}")
    })
}

/// Finds the values of a request that may be secrets, by the parts of their JSON pointers: all but those that errors quote.
fn find(value: &Value, path: &mut Vec<String>, places: &mut Vec<Vec<String>>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => return places.push(path.clone()),
    };
    for (name, value) in members {
        // The path of a file is shown, but a URL in its place may have a password.
        if SHOWN.contains(&name.as_str()) && !(name == "path" && path.len() == 1) {
            continue;
        }
        path.push(name.replace('~', "~0").replace('/', "~1"));
        find(value, path, places);
        path.pop();
    }
}

/// A value with the secret in it. `form` says how.
fn with_secret(value: &Value, path: &[String], is_base: bool, form: u8) -> Value {
    let url = format!("https://user:{SECRET}@host/file?{SECRET}");
    let last = path.last().map(String::as_str).unwrap_or_default();
    let own = value.as_str().unwrap_or_default();
    if is_base || matches!(last, "rootfs_url" | "address") {
        return url.into();
    }
    if path.first().is_some_and(|first| first == "kernel_arguments") {
        // What is before the first `=` is the key, which errors show.
        return format!("key={own}{SECRET}").into();
    }
    match form % 8 {
        0 => SECRET.into(),
        1 => format!("{own}{SECRET}").into(),
        2 => format!("{SECRET}{own}").into(),
        3 => url.into(),
        4 => format!("{own}\n{SECRET}").into(),
        5 => json!([SECRET]),
        6 => json!({ "x": SECRET }),
        _ => format!("{}{own}", BASE64_STANDARD.encode(SECRET)).into(),
    }
}
