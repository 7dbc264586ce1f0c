//! What is said while hosts boot: a view that changes, on a terminal; lines, elsewhere; or JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::api::{Boot, Finding};
use super::remarks::Remarks;
use super::view::View;
use super::words;
use crate::arguments::OutputFormat;
use crate::commands::failure::Failure;
use crate::commands::terminal::{self, ERROR, WARNING, plain};

/// How often progress within a step is a line, where there is no terminal.
const PACE: Duration = Duration::from_secs(10);

/// Where to and in which form.
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

/// What lines have said of a boot.
struct Shown {
    steps: BTreeMap<String, String>,
    progress: Option<String>,
    last: Instant,
}

impl Display {
    pub(super) fn new(format: OutputFormat) -> Self {
        let form = match format {
            OutputFormat::Json => Form::Json,
            OutputFormat::Text if std::io::stderr().is_terminal() => {
                Form::Live { view: Arc::default(), region: Mutex::default() }
            }
            OutputFormat::Text => Form::Lines(Mutex::default()),
        };
        Self { form, begun: Instant::now(), remarks: Mutex::default() }
    }

    /// Says what is new of a boot; `json` is all there is to know of it.
    pub(super) fn show(&self, boot: &Boot, json: &str) {
        match &self.form {
            Form::Json => {
                // That nobody reads any more is no reason to leave hosts alone.
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

    /// Says something that is of no host.
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

    /// That a server has begun it, where nobody waits for what becomes of it.
    pub(super) fn begun(&self, boot: &Boot) -> Result<(), Failure> {
        let (id, name) = (&boot.id, boot.name());
        match self.form {
            Form::Json => terminal::print(&format!("{}\n", serde_json::json!({"id": id, "host": boot.host}))),
            Form::Lines(_) | Form::Live { .. } => terminal::print(&format!("{}: boot {}\n", plain(name), plain(id))),
        }
    }

    /// Ends the live view: what is printed from now on stays.
    fn end(&self) {
        if let Form::Live { region, .. } = &self.form
            && let Some(region) = locked(region).take()
        {
            region.finish_and_clear();
        }
    }

    /// What came of boots, when nothing more will.
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
            terminal::remark(&format!("{}\n", words::total(boots.iter().map(|boot| boot.state.as_str()))));
        }
    }

    fn outcome(boot: &Boot) {
        let failed = boot.steps.iter().find(|step| step.state == "failed");
        let mut line = format!("{}: ", plain(boot.name()));
        // Writing to a String does not fail.
        let _ = match failed {
            Some(step) => {
                let error = plain(step.error.as_deref().unwrap_or("no reason is known"));
                writeln!(line, "{ERROR}failed{ERROR:#} at {}: {error}", step.name)
            }
            None if boot.is_unknown() => {
                let detail = boot.steps.iter().find(|step| step.state == "unknown");
                let detail = detail.and_then(|step| step.detail.as_deref()).unwrap_or_default();
                writeln!(line, "{WARNING}unknown{WARNING:#}: {}", plain(detail))
            }
            None if boot.has_booted() => {
                let detail = boot.steps.iter().find(|step| step.name == "booted");
                let detail = detail.and_then(|step| step.detail.as_deref()).unwrap_or_default();
                writeln!(line, "booted: {}", plain(detail))
            }
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
    /// Lines for what changed.
    fn news(&mut self, boot: &Boot) -> String {
        let name = plain(boot.name());
        let mut text = String::new();
        for step in &boot.steps {
            let before = self.steps.insert(step.name.clone(), step.state.clone());
            if before.as_ref() != Some(&step.state) && step.state != "waiting" {
                // Writing to a String does not fail.
                let _ = writeln!(text, "{name}: {}", plain(&words::step(step)));
                self.last = Instant::now();
            }
        }
        if boot.progress != self.progress && self.last.elapsed() >= PACE {
            self.progress.clone_from(&boot.progress);
            self.last = Instant::now();
            if let Some(progress) = &boot.progress {
                let _ = writeln!(text, "{name}: {}", plain(progress));
            }
        }
        text
    }
}

/// The part of the terminal that changes. It is drawn anew five times a second, at the size that the terminal has then.
fn live(view: Arc<Mutex<View>>, begun: Instant) -> ProgressBar {
    let draw = move |_: &ProgressState, text: &mut dyn fmt::Write| {
        let (height, width) = Term::stderr().size();
        // One line is the cursor's, and writing to a terminal's buffer does not fail.
        let lines = locked(&view).lines(width.into(), usize::from(height).saturating_sub(1), begun.elapsed());
        let _ = text.write_str(&lines.join("\n"));
    };
    let style = ProgressStyle::with_template("{hosts}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let region = ProgressBar::new_spinner().with_style(style.with_key("hosts", draw));
    region.enable_steady_tick(Duration::from_millis(200));
    region
}

/// A thread that panicked left nothing half done here: what is shown is read again from each event.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was found in the documents, as the other commands show it.
pub(super) fn findings(findings: &[Finding]) -> String {
    let line = |Finding { severity, code, message, position }: &Finding| {
        crate::commands::findings::line(severity, position.as_ref(), message, code)
    };
    findings.iter().map(line).collect()
}
