//! Shows entries to people.

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::Value;

use super::chain::{Chained, Link};
use super::log_text::{LogText, LogTextError};
use super::unfinished::{Recovered, Unexplained};

/// Hands over the entries of files, and returns a line that is not an entry: its file and its number. What a server has left of an entry
/// when it failed is none, and is fine if an entry says so: the next one, or one in the file after.
pub fn entries(files: &[LogText], mut entry: impl FnMut(Value)) -> Result<Option<(&Path, usize)>, LogTextError> {
    let (mut wrong, mut ends, mut of_earlier) = (None, Vec::new(), Vec::new());
    for file in files {
        let place = move |number| (file.path.as_path(), number);
        let mut unexplained = Unexplained::default();
        let mut last: Option<Link> = None;
        file.each_line(|line| {
            match serde_json::from_slice::<Value>(line.bytes) {
                _ if line.bytes.is_empty() => {}
                Ok(read) if read.get("sequence").is_some_and(Value::is_u64) => {
                    let recovered = Recovered::read(line.bytes);
                    let before = std::mem::take(&mut unexplained);
                    if !recovered.as_ref().is_some_and(|recovered| recovered.explains(&before, last)) {
                        wrong = wrong.or(before.first().map(place));
                    }
                    of_earlier.extend(recovered.filter(Recovered::is_of_earlier));
                    last = Chained::read_unchecked(line.bytes).map(|entry| entry.link());
                    entry(read);
                }
                _ => {
                    if !unexplained.add(line.number, line.bytes, line.end) {
                        wrong = wrong.or(unexplained.first().or(Some(line.number)).map(place));
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        let is_left = last.is_some_and(|end| unexplained.are_left_after(end, end));
        ends.push((file.path.as_path(), unexplained, is_left));
    }
    ends.retain(|(_, end, is_left)| !(*is_left && of_earlier.iter().any(|recovered| recovered.has_found_end(end))));
    Ok(wrong.or_else(|| ends.iter().find_map(|(path, end, _)| Some((*path, end.first()?)))))
}

/// Which entries to show.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only entries about this host.
    pub host: Option<String>,
    /// Only entries about the image whose id begins like this.
    pub image: Option<String>,
}

impl Filter {
    /// Whether to show an entry.
    pub fn admits(&self, entry: &Value) -> bool {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        self.host.as_deref().is_none_or(|host| text("host") == Some(host))
            && self.image.as_deref().is_none_or(|image| text("image").is_some_and(|id| id.starts_with(image)))
    }
}

/// An entry as a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// When.
    pub time: String,
    /// Who.
    pub who: String,
    /// What.
    pub what: String,
}

/// How many ranges a sentence has at most.
const RANGES: usize = 8;

/// Describes an entry in plain words.
pub fn sentence(entry: &Value) -> Shown {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| entry.get(name).and_then(Value::as_u64).unwrap_or_default();
    let of_host = if text("host").is_empty() { String::new() } else { format!(" of {}", text("host")) };
    let image = || format!("the image {}{of_host}", text("image").get(..12).unwrap_or(text("image")));
    let boot = || format!("the boot {}{of_host}", text("boot"));
    let what = match text("event") {
        "log-begun" if text("earlier").is_empty() => "began the log".to_owned(),
        "log-begun" => format!("began this file after {}", text("earlier")),
        "log-recovered" => {
            let file = if text("file").is_empty() { "the log" } else { text("file") };
            format!("found {} bytes that are no entry at the end of {file}", number("bytes"))
        }
        "entries-lost" => format!("lost {} entries", number("entries")),
        "server-started" => format!("started dayone {}", text("version")),
        "server-stopped" => "stopped".to_owned(),
        "key-rotated" if text("previous-until").is_empty() => {
            "took a new installation key over; URLs of the previous key have ended".to_owned()
        }
        "key-rotated" => {
            let until = text("previous-until");
            format!("took a new installation key over; URLs of the previous key are valid until {until}")
        }
        "previous-key-removed" => "removed the previous installation key, whose URLs have ended".to_owned(),
        "settings-reloaded" => format!("read the settings again; the API has {} clients", number("clients")),
        "logged-in" => "logged in with a browser".to_owned(),
        "authentication-failed" => {
            let is_login = entry.get("login").and_then(Value::as_bool).unwrap_or_default();
            let tried =
                if is_login { "tried to log in without a valid token" } else { "sent a request without a valid token" };
            match number("unrecorded") {
                0 => tried.to_owned(),
                more => format!("{tried}; {more} more such attempts before were not recorded"),
            }
        }
        "request-refused" => {
            let refused =
                format!("may not {} {}: this needs the role {}", text("method"), text("route"), text("needed-role"));
            match number("unrecorded") {
                0 => refused,
                more => format!("{refused}; {more} more such requests before were not recorded"),
            }
        }
        "image-ordered" => {
            let base = if text("base").is_empty() { String::new() } else { format!(" over {}", text("base")) };
            let is_new = entry.get("new").and_then(Value::as_bool).unwrap_or_default();
            format!("ordered {}{base}{}", image(), if is_new { "" } else { ", which existed" })
        }
        "image-streamed" => format!("received {}, which the server does not store", image()),
        "image-deleted" => format!("deleted {}", image()),
        "image-ended" => format!("removed {}, whose time to live was over", image()),
        "image-read" => {
            let more = if entry.get("approximate").is_some() { ", approximately" } else { "" };
            let (file, first, last) = (text("file"), text("first"), text("last"));
            format!("read {file} of {} from {first} to {last}: {}{more}", image(), ranges(entry))
        }
        "reads-lost" => format!("did not record {} pieces that clients read of {}", number("pieces"), image()),
        "boot-begun" => format!("began {} by the BMC {} from {}", boot(), text("bmc"), image()),
        "boot-ended" => format!("ended {} as {}", boot(), text("state")),
        "boot-deleted" => format!("deleted {}", boot()),
        "base-added" => format!("added the base {}", text("base")),
        "base-removed" => format!("removed the base {}", text("base")),
        "base-fetch-stopped" => format!("stopped fetching the base {}", text("base")),
        other => format!("did something that this version of dayone does not know: {other}"),
    };
    Shown { time: text("time").to_owned(), who: who(entry), what }
}

fn who(entry: &Value) -> String {
    let name = match entry.get("who") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Object(members)) => {
            let named = members.iter().next();
            named.map(|(kind, name)| format!("{kind} {}", name.as_str().unwrap_or_default())).unwrap_or_default()
        }
        _ => "unknown".to_owned(),
    };
    match entry.get("address").and_then(Value::as_str) {
        Some(address) => format!("{name} at {address}"),
        None => name,
    }
}

/// The bytes that were read, as the first and the last of each range.
fn ranges(entry: &Value) -> String {
    let all = entry.get("ranges").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let pairs = all.iter().filter_map(|pair| match pair.as_array()?.as_slice() {
        [start, end] => Some((start.as_u64()?, end.as_u64()?)),
        _ => None,
    });
    let shown: Vec<String> =
        pairs.take(RANGES).map(|(start, end)| format!("{start}-{}", end.saturating_sub(1))).collect();
    let more = all.len().saturating_sub(RANGES);
    let more = if more > 0 { format!(" and {more} more ranges") } else { String::new() };
    format!("bytes {}{more}", shown.join(", "))
}
