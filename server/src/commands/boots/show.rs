//! `dayone boots show`

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use super::bars::ReadFile;
use super::{MAX_ANSWER, api, find, missing};
use crate::arguments::{BootsShowArguments, OutputFormat};
use crate::commands::boot_api::{Api, Boot, Step};
use crate::commands::client::{ApiError, read};
use crate::commands::failure::{Failure, block_on};
use crate::commands::table::{Table, columns};
use crate::commands::terminal::{self, HEADING, plain};
use crate::units::{bytes, duration};

/// The width of the bars, in columns.
const BAR: usize = 30;

/// A boot with all that is shown of it.
#[derive(Deserialize)]
struct Shown {
    #[serde(flatten)]
    boot: Boot,
    medium: String,
    wait_for: Vec<String>,
    addresses: Vec<String>,
}

/// What was read of an image: the members that are shown.
#[derive(Deserialize)]
struct Reading {
    summary: String,
    sent: u64,
    rate: u64,
    last_read: Option<String>,
    stalled_seconds: Option<u64>,
    contents: Vec<Content>,
    files: Vec<File>,
}

#[derive(Deserialize)]
struct Content {
    name: String,
    role: Option<String>,
    read: u64,
    size: u64,
    percent: u8,
}

#[derive(Deserialize)]
struct File {
    name: String,
    clients: Vec<Reader>,
}

#[derive(Deserialize)]
struct Reader {
    address: String,
    user_agent: Option<String>,
    gets: u64,
    heads: u64,
    sent: u64,
    last: String,
}

pub(super) fn run(arguments: &BootsShowArguments) -> Result<(), Failure> {
    let api = api(&arguments.server)?;
    let (boot, reading) = block_on(fetch(&api, &arguments.boot))??;
    if arguments.format == OutputFormat::Json {
        let mut both = boot;
        if let Some(members) = both.as_object_mut() {
            members.insert("reading".to_owned(), reading);
        }
        return terminal::print_json(&both);
    }
    let shown = Shown::deserialize(&boot).map_err(ApiError::from)?;
    let reading = Option::<Reading>::deserialize(&reading).map_err(ApiError::from)?;
    terminal::print(&text(&shown, reading.as_ref()))
}

/// Returns a boot, and what was read of its image; null if the server has no such image any more.
async fn fetch(api: &Api, named: &str) -> Result<(Value, Value), Failure> {
    let id = find(api, named).await?;
    let client = &api.0;
    let get = async |path: &[&str]| -> Result<Value, ApiError> {
        read(client.send(client.get(client.path(path)).timeout(MAX_ANSWER)).await?).await
    };
    let boot = get(&["v1", "boots", &id]).await.map_err(missing(named))?;
    let image = boot.get("image").and_then(Value::as_str).unwrap_or_default();
    match get(&["v1", "images", image, "reading"]).await {
        Ok(reading) => Ok((boot, reading)),
        // An older server cannot tell.
        Err(ApiError::Missing | ApiError::NoApi(_) | ApiError::Busy { .. } | ApiError::Refused { .. }) => {
            Ok((boot, Value::Null))
        }
        Err(error) => Err(error.into()),
    }
}

fn text(shown: &Shown, reading: Option<&Reading>) -> String {
    let boot = &shown.boot;
    let mut table = Table::new(&format!("{}: {}", boot.name(), boot.state));
    table.row("id", &boot.id);
    table.row("begun", &boot.created);
    table.row("BMC", &boot.bmc.address);
    table.row("image", &boot.image);
    table.row("medium", format!("{}{}", shown.medium, if boot.inserted { ", inserted" } else { "" }));
    table.rows("addresses", &shown.addresses);
    table.row("booted when", shown.wait_for.join(", "));
    table.rows("remarks", boot.remarks.iter().map(|remark| &remark.text));
    let mut text = table.into_text();
    let row = |step: &Step| {
        let took = step.seconds.map(|seconds| format!("{seconds:.1} s")).unwrap_or_default();
        let result = step.error.as_ref().or(step.detail.as_ref()).cloned().unwrap_or_default();
        vec![step.name.clone(), step.state.clone(), step.started.clone().unwrap_or_default(), took, result]
    };
    text.push('\n');
    text += &columns(&["STEP", "STATE", "BEGAN", "TOOK", "RESULT"], &boot.steps.iter().map(row).collect::<Vec<_>>());
    if let Some(reading) = reading {
        text.push('\n');
        text += &read_text(reading);
    }
    text
}

fn read_text(reading: &Reading) -> String {
    let mut text = format!("{HEADING}Read from the image{HEADING:#}: {}\n", plain(&reading.summary));
    for content in reading.contents.iter().filter(|content| content.role.is_some()) {
        let label = content.role.clone().unwrap_or_default();
        let (read, size, percent) = (content.read, content.size, content.percent);
        let file = ReadFile { label: format!("{label:<7}"), read, size, percent };
        let amount = format!("{} of {}", bytes(file.read), bytes(file.size));
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {}  {amount}  {}", file.line(BAR), plain(&content.name));
    }
    if let Some(last) = &reading.last_read {
        let stalled = reading.stalled_seconds.map(|seconds| format!(", stalled for {}", duration(seconds)));
        let rate = format!("{}/s", bytes(reading.rate));
        let stalled = stalled.unwrap_or_default();
        let _ = writeln!(text, "  {} sent, {rate}, last read {}{stalled}", bytes(reading.sent), plain(last));
    }
    let client = |file: &str, client: &Reader| {
        let requests = (client.gets + client.heads).to_string();
        let agent = client.user_agent.clone().unwrap_or_default();
        vec![client.address.clone(), file.to_owned(), requests, bytes(client.sent), client.last.clone(), agent]
    };
    let clients: Vec<Vec<String>> =
        reading.files.iter().flat_map(|file| file.clients.iter().map(|reader| client(&file.name, reader))).collect();
    if !clients.is_empty() {
        text.push('\n');
        text += &columns(&["CLIENT", "FILE", "REQUESTS", "SENT", "LAST REQUEST", "PROGRAM"], &clients);
    }
    text
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_boot_is_shown_with_its_steps_and_what_was_read() {
        let boot = json!({"id": "06gq1k2m5v8t3n4p", "host": "worker\u{1b}[2J", "state": "running", "ended": false,
            "inserted": true, "created": "2026-02-28T23:59:59.123Z", "image": "0".repeat(64), "medium": "cd",
            "wait_for": ["call-home"], "addresses": ["192.0.2.20"], "bmc": {"address": "https://bmc/"}, "progress": null,
            "steps": [{"step": "insert", "state": "done", "started": "2026-02-28T23:59:59.200Z", "seconds": 1.25,
                "error": null, "detail": "slot Cd"}],
            "remarks": [{"text": "the BMC\nrefused a form"}]});
        let reading = json!({"summary": "kernel read, initrd 43 %", "sent": 5_500_000, "rate": 206_400, "since": "x",
            "at": "x", "last_read": "2026-03-01T00:00:12Z", "stalled_seconds": 12,
            "contents": [
                {"name": "directories", "size": 1, "read": 1, "percent": 100},
                {"name": "/initrd.img", "role": "initrd", "size": 10_000_000, "read": 4_300_000, "percent": 43}],
            "files": [{"name": "boot.iso", "clients": [{"address": "192.0.2.200", "user_agent": "BMC/1\u{7}", "gets": 7,
                "heads": 1, "sent": 5_500_000, "last": "2026-03-01T00:00:12Z"}]}]});
        let (shown, reading) = (Shown::deserialize(&boot).unwrap(), Reading::deserialize(&reading).unwrap());
        let text = strip_str(&text(&shown, Some(&reading))).to_string();
        for expected in [
            "worker\\u{1b}[2J: running\n",
            "medium             cd, inserted\n",
            "remarks            the BMC\\nrefused a form\n",
            "insert  done   2026-02-28T23:59:59.200Z  1.2 s  slot Cd\n",
            "Read from the image: kernel read, initrd 43 %\n",
            "  initrd  ████████████░░░░░░░░░░░░░░░░░░  43 %  4.3 MB of 10 MB  /initrd.img\n",
            "  5.5 MB sent, 206 kB/s, last read 2026-03-01T00:00:12Z, stalled for 12 s\n",
            "192.0.2.200  boot.iso  8         5.5 MB  2026-03-01T00:00:12Z  BMC/1\\u{7}\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(!text.contains("directories"), "{text}");
    }
}
