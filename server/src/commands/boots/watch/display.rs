//! Shows boots on standard output: as a live view on a terminal, otherwise as lines, or as JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::board::{Board, Counted, Mark, Watched};
use super::view;
use crate::arguments::OutputFormat;
use crate::commands::client::ApiError;
use crate::commands::failure::Failure;
use crate::commands::following::Changes;
use crate::commands::terminal::{self, plain};

/// How often to print the progress within a step, if there is no terminal.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// The output of the command, with the boots that it shows.
pub(super) struct Display {
    board: Arc<Mutex<Shown>>,
    form: Form,
}

/// What the live view shows.
#[derive(Default)]
struct Shown {
    board: Board,
    is_disconnected: bool,
}

enum Form {
    Live(Option<ProgressBar>),
    Lines(BTreeMap<String, Printed>),
    Json,
}

/// What the printed lines show of a boot.
struct Printed {
    steps: Vec<Mark>,
    reason: String,
    last: Instant,
}

impl Display {
    pub(super) fn new(format: OutputFormat) -> Self {
        let form = match format {
            OutputFormat::Json => Form::Json,
            OutputFormat::Text if terminal::can_draw(&std::io::stdout()) => Form::Live(None),
            OutputFormat::Text => Form::Lines(BTreeMap::new()),
        };
        Self { board: Arc::default(), form }
    }

    /// Shows what has changed. Returns whether a host is booting. Fails if one is, and the reader of the output has gone.
    pub(super) fn show(&mut self, changes: Changes) -> Result<bool, Failure> {
        let mut shown = locked(&self.board);
        shown.is_disconnected = false;
        if let Some(ids) = &changes.ids {
            shown.board.keep(ids);
        }
        let mut is_read = true;
        for json in changes.boots {
            let boot: Watched = serde_json::from_str(json.get()).map_err(ApiError::from)?;
            is_read &= match &mut self.form {
                Form::Json => terminal::print_to_reader(&format!("{}\n", json.get()))?,
                Form::Lines(printed) => terminal::print_to_reader(&news(printed, &boot))?,
                Form::Live(_) => true,
            };
            shown.board.update(boot);
        }
        let is_booting = shown.board.is_booting();
        drop(shown);
        if is_booting && !is_read {
            // This command does not learn how the boots end. The server continues them.
            return Err(Failure::Unknown);
        }
        if let Form::Live(region) = &mut self.form {
            region.get_or_insert_with(|| live(Arc::clone(&self.board)));
        }
        Ok(is_booting)
    }

    /// Shows that there is no connection at the moment.
    pub(super) fn disconnected(&mut self) {
        let was_connected = !std::mem::replace(&mut locked(&self.board).is_disconnected, true);
        if was_connected && !matches!(self.form, Form::Live(_)) {
            terminal::remark("the server does not answer; connecting again\n");
        }
    }

    /// Ends the live view, and returns all boots. `is_complete`: prints the outcome of the hosts that have not booted, and how
    /// many have.
    pub(super) fn end(mut self, is_complete: bool) -> Result<Board, Failure> {
        let mut was_live = false;
        if let Form::Live(region) = &mut self.form {
            was_live = true;
            if let Some(region) = region.take() {
                region.finish_and_clear();
            }
        }
        let board = std::mem::take(&mut locked(&self.board).board);
        if is_complete && !matches!(self.form, Form::Json) && board.counts().total > 0 {
            let mut text = String::new();
            let others = board.counted().filter(|(counted, _)| was_live && *counted != Counted::Booted);
            for (_, boot) in others {
                text += &summary(boot);
            }
            // Writing to a String does not fail.
            let _ = writeln!(text, "{}", board.counts());
            terminal::print(&text)?;
        }
        Ok(board)
    }
}

/// Returns lines about the changes of a boot. Boots that count for no host are of no interest.
fn news(printed: &mut BTreeMap<String, Printed>, boot: &Watched) -> String {
    if boot.counted_as.is_none() {
        printed.remove(&boot.id);
        return String::new();
    }
    let name = plain(boot.name());
    let new = |boot: &Watched| Printed { steps: boot.steps.clone(), reason: boot.reason.clone(), last: Instant::now() };
    let Some(before) = printed.get_mut(&boot.id) else {
        printed.insert(boot.id.clone(), new(boot));
        return summary(boot);
    };
    let mut text = String::new();
    let is_news = |mark: &&Mark| !before.steps.contains(mark) && !matches!(mark.state.as_str(), "waiting" | "skipped");
    for mark in boot.steps.iter().filter(is_news) {
        let is_result =
            matches!(mark.state.as_str(), "failed" | "unknown") || (mark.step == "booted" && mark.state == "done");
        let of_step = boot.reason.strip_prefix(&format!("{}: ", mark.step.replace('-', " "))).unwrap_or(&boot.reason);
        let result = if is_result && !of_step.is_empty() { format!(": {}", plain(of_step)) } else { String::new() };
        // Writing to a String does not fail.
        let _ = writeln!(text, "{name}: {} {}{result}", plain(&mark.step), plain(&mark.state));
    }
    if !text.is_empty() {
        *before = new(boot);
    } else if before.reason != boot.reason && before.last.elapsed() >= PROGRESS_INTERVAL {
        *before = new(boot);
        let _ = writeln!(text, "{name}: {}", plain(&boot.reason));
    }
    text
}

/// Returns a line about the present state of a boot.
fn summary(boot: &Watched) -> String {
    let (name, state, reason) = (plain(boot.name()), plain(&boot.state), plain(&boot.reason));
    if reason.is_empty() { format!("{name}: {state}\n") } else { format!("{name}: {state}: {reason}\n") }
}

/// The live part of the terminal. It is drawn again five times a second, for the current size of the terminal.
fn live(shown: Arc<Mutex<Shown>>) -> ProgressBar {
    let draw = move |_: &ProgressState, text: &mut dyn fmt::Write| {
        let (height, width) = Term::stdout().size();
        let shown = locked(&shown);
        // The cursor needs one line.
        let height = usize::from(height).saturating_sub(1);
        let lines = view::lines(&shown.board, shown.is_disconnected, width.into(), height).join("\n");
        // Writing to a terminal's buffer does not fail.
        let _ = text.write_str(&terminal::coloured(lines, &std::io::stdout()));
    };
    let style = ProgressStyle::with_template("{hosts}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let region = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
    region.set_style(style.with_key("hosts", draw));
    region.enable_steady_tick(Duration::from_millis(200));
    region
}

/// Locks the mutex, also after a panic: boots are replaced as a whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn boot(counted: &str, steps: [&str; 2], reason: &str) -> Watched {
        let steps = ["insert", "booted"].iter().zip(steps).map(|(step, state)| json!({"step": step, "state": state}));
        let boot = json!({"id": "1", "host": "w\u{1b}0", "bmc": "https://bmc/", "state": counted, "counted_as": counted,
            "steps": steps.collect::<Vec<_>>(), "reason": reason});
        serde_json::from_value(boot).unwrap()
    }

    #[test]
    fn each_change_is_a_line_and_nothing_drives_the_terminal() {
        let mut printed = BTreeMap::new();
        let mut told = |boot: &Watched| news(&mut printed, boot);
        assert_eq!(told(&boot("running", ["running", "waiting"], "insert")), "w\\u{1b}0: running: insert\n");
        assert_eq!(told(&boot("running", ["running", "waiting"], "insert: 3 %")), "", "progress has its time");
        assert_eq!(
            told(&boot("running", ["done", "running"], "booted")),
            "w\\u{1b}0: insert done\nw\\u{1b}0: booted running\n"
        );
        let called = boot("booted", ["done", "done"], "called home from 192.0.2.20");
        assert_eq!(told(&called), "w\\u{1b}0: booted done: called home from 192.0.2.20\n");
        assert_eq!(told(&called), "");
        let failed = boot("failed", ["failed", "skipped"], "insert: no\u{7}");
        assert_eq!(told(&failed), "w\\u{1b}0: insert failed: no\\u{7}\n");
    }
}
