//! The live view of a terminal: as many hosts as fit, with failed hosts first and the others by name, and the number of hosts in
//! each state.

use std::cmp::Reverse;

use anstyle::{AnsiColor, Style};
use console::{measure_text_width, truncate_str};

use super::board::{Board, Counted, Reading, Watched};
use crate::commands::terminal::{ERROR, WARNING, plain};
use crate::natural_order::natural_key;
use crate::units::{bytes, duration};

/// The minimum width of the view in columns, so that there is something to read.
const NARROWEST: usize = 20;
/// The width from which a row has the marks of its steps.
const WITH_MARKS: usize = 60;
/// The least and the greatest width of a bar.
const BARS: [usize; 2] = [4, 20];
/// The style of a host that has booted.
const GOOD: Style = AnsiColor::Green.on_default();

/// Returns at most `height` lines of at most `width` columns.
pub(super) fn lines(board: &Board, is_disconnected: bool, width: usize, height: usize) -> Vec<String> {
    let width = width.max(NARROWEST);
    let mut rows: Vec<(Counted, &Watched)> = board.counted().collect();
    rows.sort_by_cached_key(|(counted, boot)| (*counted, natural_key(boot.name()), Reverse(boot.id.clone())));
    let room = height.saturating_sub(1);
    let hidden = if rows.len() <= room { Vec::new() } else { rows.split_off(room.saturating_sub(1)) };
    // Below the failed hosts, a host keeps its line when its state changes.
    rows.sort_by_cached_key(|(counted, boot)| {
        ((*counted).min(Counted::Running), natural_key(boot.name()), Reverse(boot.id.clone()))
    });
    let name = |boot: &Watched| short(boot.name());
    let names = rows.iter().map(|(_, boot)| measure_text_width(&name(boot))).max().unwrap_or(0).min(width / 3);
    let heads: Vec<String> =
        rows.iter().map(|(counted, boot)| head(*counted, boot, &name(boot), names, width)).collect();
    let behind = |head: &str| width.saturating_sub(measure_text_width(head));
    let read =
        rows.iter().zip(&heads).filter_map(|((counted, boot), head)| Some((shown_reading(*counted, boot)?, head)));
    // The bars of all hosts are in line.
    let bars = read.map(|(reading, head)| widest_bars(reading, behind(head))).min().unwrap_or_default();
    let mut lines: Vec<String> =
        rows.iter().zip(&heads).map(|((counted, boot), head)| row(*counted, boot, head, bars, width)).collect();
    if !hidden.is_empty() && room > 0 {
        let failed = hidden.iter().filter(|(counted, _)| *counted == Counted::Failed).count();
        let failed = if failed > 0 { format!(", {failed} of them failed") } else { String::new() };
        lines.push(truncate_str(&format!("… {} more{failed}", hidden.len()), width, "…").into_owned());
    }
    let state = if is_disconnected { "; the server does not answer" } else { "" };
    lines.push(truncate_str(&format!("{}{state}", board.counts()), width, "…").into_owned());
    lines
}

/// The beginning of a row: a sign, the name, and the marks of the steps.
fn head(counted: Counted, boot: &Watched, name: &str, names: usize, width: usize) -> String {
    let name = truncate_str(name, names, "…");
    let padding = " ".repeat(names.saturating_sub(measure_text_width(&name)));
    let marks = if width >= WITH_MARKS { format!("  {}", marks(boot)) } else { String::new() };
    format!("{} {name}{padding}{marks}  ", sign(counted))
}

/// What was read of the image of a host that reads.
fn shown_reading(counted: Counted, boot: &Watched) -> Option<&Reading> {
    let reading = boot.reading.as_ref().filter(|_| counted == Counted::Running);
    reading.filter(|reading| reading.last_read.is_some() && !reading.files.is_empty())
}

fn row(counted: Counted, boot: &Watched, head: &str, bars: usize, width: usize) -> String {
    let rest = match shown_reading(counted, boot) {
        Some(reading) => {
            let whole = read_text(reading, bars, &pace(reading));
            let fits = measure_text_width(head) + measure_text_width(&whole) <= width;
            if fits { whole } else { read_text(reading, 0, "") }
        }
        None => plain(&boot.reason),
    };
    let line = truncate_str(&format!("{head}{rest}"), width, "…").trim_end().to_owned();
    let stalled = boot.reading.as_ref().is_some_and(|reading| reading.stalled_seconds.is_some());
    match counted {
        Counted::Failed => format!("{ERROR}{line}{ERROR:#}"),
        Counted::Unknown => format!("{WARNING}{line}{WARNING:#}"),
        Counted::Running if stalled => format!("{WARNING}{line}{WARNING:#}"),
        Counted::Booted => format!("{GOOD}{line}{GOOD:#}"),
        Counted::Running | Counted::Queued => line,
    }
}

/// A bar of so many columns for each file, with the pace of the reads behind them.
fn read_text(reading: &Reading, columns: usize, pace: &str) -> String {
    let files = reading.files.iter().map(|file| file.line(columns));
    files.chain([pace.to_owned()]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

/// The widest bars that there is room for; 0 for none.
fn widest_bars(reading: &Reading, room: usize) -> usize {
    let [least, greatest] = BARS;
    let pace = pace(reading);
    let fits = |columns: &usize| measure_text_width(&read_text(reading, *columns, &pace)) <= room;
    (least..=greatest).rev().find(fits).unwrap_or_default()
}

/// How fast the image is read, for how long a read has stalled, or when the last byte was read.
fn pace(reading: &Reading) -> String {
    if let Some(seconds) = reading.stalled_seconds {
        return format!("stalled for {}", duration(seconds));
    }
    if reading.rate > 0 {
        let left = reading.seconds_left.map(|seconds| format!(", {} left", duration(seconds))).unwrap_or_default();
        return format!("{}/s{left}", bytes(reading.rate));
    }
    // The time of day, of a time in the form of RFC 3339.
    let time = reading.last_read.as_deref().and_then(|time| time.get(11..19));
    time.map(|time| format!("last read {}", plain(time))).unwrap_or_default()
}

/// A sign for each step.
fn marks(boot: &Watched) -> String {
    let sign = |state: &str| match state {
        "running" => '▸',
        "done" => '✓',
        "failed" => '✕',
        "skipped" => '–',
        "unknown" => '?',
        _ => '·',
    };
    boot.steps.iter().map(|mark| sign(&mark.state)).collect()
}

fn sign(counted: Counted) -> char {
    match counted {
        Counted::Failed => '✕',
        Counted::Unknown => '?',
        Counted::Running => '▸',
        Counted::Queued => '·',
        Counted::Booted => '✓',
    }
}

/// The name of a host, or only the authority of its BMC's address, to leave room on the line.
fn short(name: &str) -> String {
    plain(name.split_once("://").map_or(name, |(_, rest)| rest.split('/').next().unwrap_or(rest)))
}

#[cfg(test)]
mod tests;
