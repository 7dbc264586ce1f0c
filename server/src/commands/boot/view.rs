//! The live view of a terminal while hosts boot: as many hosts as fit, with failed hosts first and the others by name, and the
//! number of hosts in each state.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use console::{measure_text_width, truncate_str};

use super::summary;
use crate::commands::boot_api::{Boot, FORGOTTEN};
use crate::commands::terminal::{ERROR, WARNING, plain};
use crate::natural_order::{Part, natural_key};

/// The minimum width of the view in columns, so that there is something to read.
const NARROWEST: usize = 20;

/// Boots by the names of their hosts, in natural order. Several boots can have the same host.
#[derive(Debug, Default)]
pub(super) struct View(BTreeMap<Key, Row>);

/// The name of a host, and the id of its boot.
type Key = (Vec<Part>, String);

#[derive(Debug)]
struct Row {
    name: String,
    state: String,
    text: String,
    class: Class,
    begun: Duration,
    ended: Option<Duration>,
}

/// The importance of a row. If there is no room for all rows, the view shows the first classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Failed,
    Unknown,
    Working,
    Queued,
    Settled,
}

impl View {
    /// Updates a boot, `now` after the start.
    pub(super) fn show(&mut self, boot: &Boot, now: Duration) {
        let name = short_name(boot);
        let row = self.0.entry((natural_key(&name), boot.id.clone())).or_insert_with(|| Row {
            name,
            state: String::new(),
            text: String::new(),
            class: Class::Queued,
            begun: now,
            ended: None,
        });
        row.state.clone_from(&boot.state);
        row.text = plain(&summary::now(boot));
        row.class = class(boot);
        let is_settled = matches!(row.class, Class::Failed | Class::Unknown | Class::Settled);
        row.ended = is_settled.then(|| row.ended.unwrap_or(now));
    }

    /// Returns at most `height` lines of at most `width` columns.
    pub(super) fn lines(&self, width: usize, height: usize, now: Duration) -> Vec<String> {
        let width = width.max(NARROWEST);
        let total = truncate_str(&self.total(), width, "…").into_owned();
        let mut rows: Vec<(&Key, &Row)> = self.0.iter().collect();
        rows.sort_by_key(|(_, row)| row.class);
        let room = height.saturating_sub(1);
        let hidden = if rows.len() <= room { Vec::new() } else { rows.split_off(room.saturating_sub(1)) };
        // Below the failed hosts, a host keeps its line when its state changes.
        rows.sort_by_key(|(key, row)| (row.class.min(Class::Working), *key));
        let names = rows.iter().map(|(_, row)| measure_text_width(&row.name)).max().unwrap_or(0).min(width / 3);
        let mut lines: Vec<String> = rows.iter().map(|(_, row)| row.line(names, width, now)).collect();
        if !hidden.is_empty() && room > 0 {
            let failed = hidden.iter().filter(|(_, row)| row.class == Class::Failed).count();
            let failed = if failed > 0 { format!(", {failed} of them failed") } else { String::new() };
            lines.push(truncate_str(&format!("… {} more{failed}", hidden.len()), width, "…").into_owned());
        }
        lines.push(total);
        lines
    }

    /// Counts the hosts in each state.
    pub(super) fn total(&self) -> String {
        summary::total(self.0.values().map(|row| row.state.as_str()))
    }
}

impl Row {
    fn line(&self, names: usize, width: usize, now: Duration) -> String {
        let took = self.ended.unwrap_or(now).saturating_sub(self.begun);
        let name = truncate_str(&self.name, names, "…");
        let padding = " ".repeat(names.saturating_sub(measure_text_width(&name)));
        let line = format!("{:>7}  {name}{padding}  {}", clock(took), self.text);
        let line = truncate_str(&line, width, "…");
        match self.class {
            Class::Failed => format!("{ERROR}{line}{ERROR:#}"),
            Class::Unknown => format!("{WARNING}{line}{WARNING:#}"),
            Class::Working | Class::Queued | Class::Settled => line.into_owned(),
        }
    }
}

fn class(boot: &Boot) -> Class {
    let has = |state: &str| boot.steps.iter().any(|step| step.state == state);
    match boot.state.as_str() {
        _ if has("failed") => Class::Failed,
        _ if has("unknown") => Class::Unknown,
        "queued" => Class::Queued,
        "booted" | "ejected" | FORGOTTEN => Class::Settled,
        _ => Class::Working,
    }
}

/// Returns the host's name, or else only the authority of its BMC's address, to leave room on the line.
fn short_name(boot: &Boot) -> String {
    let name = boot.name();
    plain(name.split_once("://").map_or(name, |(_, rest)| rest.split('/').next().unwrap_or(rest)))
}

/// Formats a time as minutes and seconds, with hours if there are any.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = match hours {
        0 => write!(text, "{minutes}:{seconds:02}"),
        _ => write!(text, "{hours}:{minutes:02}:{seconds:02}"),
    };
    text
}

#[cfg(test)]
mod tests;
