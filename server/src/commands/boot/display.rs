//! Shows the progress of boots: as a live view on a terminal, otherwise as lines, or as JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::remarks::Remarks;
use super::summary;
use super::view::View;
use crate::arguments::OutputFormat;
use crate::commands::boot_api::{Boot, Step};
use crate::commands::client::Finding;
use crate::commands::failure::Failure;
use crate::commands::terminal::{self, ERROR, WARNING, plain};

/// How often to print the progress within a step, if there is no terminal.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// The output of the command.
pub(super) struct Display {
    form: Form,
    begun: Instant,
    remarks: Mutex<Remarks>,
}

enum Form {
    Live { view: Arc<Mutex<View>>, region: Mutex<Option<ProgressBar>> },
    Lines(Mutex<BTreeMap<String, Shown>>),
    Json,
}

/// What the printed lines show of a boot.
struct Shown {
    steps: BTreeMap<String, String>,
    progress: Option<String>,
    last: Instant,
}

impl Display {
    pub(super) fn new(format: OutputFormat) -> Self {
        let form = match format {
            OutputFormat::Json => Form::Json,
            OutputFormat::Text if terminal::can_draw(&std::io::stderr()) => {
                Form::Live { view: Arc::default(), region: Mutex::default() }
            }
            OutputFormat::Text => Form::Lines(Mutex::default()),
        };
        Self { form, begun: Instant::now(), remarks: Mutex::default() }
    }

    /// Shows what has changed in a boot; `json` is the whole boot.
    pub(super) fn show(&self, boot: &Boot, json: &str) {
        match &self.form {
            Form::Json => {
                // Keep booting the hosts even if nobody reads the output any more.
                let _ = terminal::print(&format!("{json}\n"));
            }
            Form::Lines(hosts) => {
                let remarks = locked(&self.remarks).news(boot);
                let mut hosts = locked(hosts);
                let shown = hosts.entry(boot.id.clone()).or_insert_with(|| Shown {
                    steps: BTreeMap::new(),
                    progress: None,
                    last: Instant::now(),
                });
                terminal::remark(&(remarks + &shown.news(boot)));
            }
            Form::Live { view, region } => {
                locked(view).show(boot, self.begun.elapsed());
                let remarks = locked(&self.remarks).news(boot);
                let mut region = locked(region);
                let region = region.get_or_insert_with(|| live(Arc::clone(view), self.begun));
                if !remarks.is_empty() {
                    region.suspend(|| terminal::remark(&remarks));
                }
            }
        }
    }

    /// Shows that the server does not have a boot any more.
    pub(super) fn forgotten(&self, boot: &Boot) {
        if let Form::Live { view, .. } = &self.form {
            locked(view).show(boot, self.begun.elapsed());
        }
        self.say(&format!("{}: forgotten: somebody has deleted the boot\n", plain(boot.name())));
    }

    /// Prints a text beside the progress of the hosts.
    pub(super) fn say(&self, text: &str) {
        let region = match &self.form {
            Form::Live { region, .. } => locked(region).clone(),
            Form::Lines(_) | Form::Json => None,
        };
        match region {
            Some(region) => region.suspend(|| terminal::remark(text)),
            None => terminal::remark(text),
        }
    }

    /// Prints that a server has begun a boot, if the command does not wait for it.
    pub(super) fn begun(&self, boot: &Boot) -> Result<(), Failure> {
        let (id, name) = (&boot.id, boot.name());
        match self.form {
            Form::Json => terminal::print(&format!("{}\n", serde_json::json!({"id": id, "host": boot.host}))),
            Form::Lines(_) | Form::Live { .. } => terminal::print(&format!("{}: boot {}\n", plain(name), plain(id))),
        }
    }

    /// Ends the live view, so that later output stays on the terminal.
    fn end(&self) {
        if let Form::Live { region, .. } = &self.form
            && let Some(region) = locked(region).take()
        {
            region.finish_and_clear();
        }
    }

    /// Prints the outcomes of boots.
    pub(super) fn outcomes(&self, boots: &[Boot]) {
        self.end();
        if matches!(self.form, Form::Json) {
            return;
        }
        terminal::remark(&locked(&self.remarks).repeated());
        for boot in boots {
            Self::outcome(boot);
        }
        if boots.len() > 1 {
            terminal::remark(&format!("{}\n", summary::total(boots.iter().map(|boot| boot.state.as_str()))));
        }
    }

    fn outcome(boot: &Boot) {
        let failed = boot.steps.iter().find(|step| step.state == "failed");
        let detail = |matches: &dyn Fn(&Step) -> bool| {
            let step = boot.steps.iter().find(|step| matches(step));
            plain(step.and_then(|step| step.detail.as_deref()).unwrap_or_default())
        };
        let mut line = format!("{}: ", plain(boot.name()));
        // Writing to a String does not fail.
        let _ = match failed {
            Some(step) => {
                let error = plain(step.error.as_deref().unwrap_or("the reason is unknown"));
                writeln!(line, "{ERROR}failed{ERROR:#} at {}: {error}", step.name)
            }
            None if boot.is_unknown() => {
                writeln!(line, "{WARNING}unknown{WARNING:#}: {}", detail(&|step| step.state == "unknown"))
            }
            None if boot.has_booted() => writeln!(line, "booted: {}", detail(&|step| step.name == "booted")),
            None => writeln!(line, "{}", boot.state),
        };
        let _ = terminal::print(&line);
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shown {
    /// Returns lines about the changes.
    fn news(&mut self, boot: &Boot) -> String {
        let name = plain(boot.name());
        let mut text = String::new();
        for step in &boot.steps {
            let before = self.steps.insert(step.name.clone(), step.state.clone());
            if before.as_ref() != Some(&step.state) && step.state != "waiting" {
                // Writing to a String does not fail.
                let _ = writeln!(text, "{name}: {}", plain(&summary::step(step)));
                self.last = Instant::now();
            }
        }
        if boot.progress != self.progress && self.last.elapsed() >= PROGRESS_INTERVAL {
            self.progress.clone_from(&boot.progress);
            self.last = Instant::now();
            if let Some(progress) = &boot.progress {
                let _ = writeln!(text, "{name}: {}", plain(progress));
            }
        }
        text
    }
}

/// The live part of the terminal. It is drawn again five times a second, for the current size of the terminal.
fn live(view: Arc<Mutex<View>>, begun: Instant) -> ProgressBar {
    let draw = move |_: &ProgressState, text: &mut dyn fmt::Write| {
        let (height, width) = Term::stderr().size();
        // The cursor needs one line.
        let height = usize::from(height).saturating_sub(1);
        let lines = locked(&view).lines(width.into(), height, begun.elapsed()).join("\n");
        // Writing to a terminal's buffer does not fail.
        let _ = text.write_str(&terminal::coloured(lines, &std::io::stderr()));
    };
    let style = ProgressStyle::with_template("{hosts}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let region = ProgressBar::new_spinner().with_style(style.with_key("hosts", draw));
    region.enable_steady_tick(Duration::from_millis(200));
    region
}

/// Locks the mutex, also after a panic: each event replaces the content, so it is never half updated.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Formats the findings about the documents like the other commands.
pub(super) fn findings(findings: &[Finding]) -> String {
    let line = |Finding { severity, code, message, position }: &Finding| {
        crate::commands::findings::line(severity, position.as_ref(), message, code)
    };
    findings.iter().map(line).collect()
}
