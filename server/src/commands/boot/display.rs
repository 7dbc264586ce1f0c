//! What is said while hosts boot: a line each that changes, on a terminal; lines, elsewhere; or JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::api::{Boot, Finding, Step};
use crate::arguments::OutputFormat;
use crate::commands::failure::Failure;
use crate::commands::terminal::{self, ERROR, WARNING, plain};

/// How often progress within a step is a line, where there is no terminal.
const PACE: Duration = Duration::from_secs(10);

/// Where to and in which form.
pub(super) struct Display {
    form: Form,
    hosts: Mutex<BTreeMap<String, Shown>>,
}

enum Form {
    Bars(MultiProgress),
    Lines,
    Json,
}

/// What was said of a boot.
struct Shown {
    bar: Option<ProgressBar>,
    steps: BTreeMap<String, String>,
    remarks: usize,
    progress: Option<String>,
    last: Instant,
}

impl Display {
    pub(super) fn new(format: OutputFormat) -> Self {
        let form = match format {
            OutputFormat::Json => Form::Json,
            OutputFormat::Text if std::io::stderr().is_terminal() => Form::Bars(MultiProgress::new()),
            OutputFormat::Text => Form::Lines,
        };
        Self { form, hosts: Mutex::default() }
    }

    /// Says what is new of a boot; `json` is all there is to know of it.
    pub(super) fn show(&self, boot: &Boot, json: &str) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = hosts.entry(boot.id.clone()).or_insert_with(|| Shown {
            bar: None,
            steps: BTreeMap::new(),
            remarks: 0,
            progress: None,
            last: Instant::now(),
        });
        match &self.form {
            Form::Json => {
                // That nobody reads any more is no reason to leave hosts alone.
                let _ = terminal::print(&format!("{json}\n"));
            }
            Form::Lines => terminal::remark(&shown.news(boot)),
            Form::Bars(bars) => {
                let bar = shown.bar.get_or_insert_with(|| new_bar(bars, boot));
                for remark in boot.remarks.iter().skip(shown.remarks) {
                    bar.println(format!("{}: {}", plain(boot.name()), plain(&remark.text)));
                }
                shown.remarks = boot.remarks.len();
                bar.set_message(plain(&now(boot)));
                if boot.ended || matches!(boot.state.as_str(), "failed" | "unknown") {
                    bar.finish();
                }
            }
        }
    }

    /// That a server has begun it, where nobody waits for what becomes of it.
    pub(super) fn begun(&self, boot: &Boot) -> Result<(), Failure> {
        let (id, name) = (&boot.id, boot.name());
        match self.form {
            Form::Json => terminal::print(&format!("{}\n", serde_json::json!({"id": id, "host": boot.host}))),
            Form::Lines | Form::Bars(_) => terminal::print(&format!("{}: boot {}\n", plain(name), plain(id))),
        }
    }

    /// Leaves the lines on the terminal as they are.
    pub(super) fn end(&self) {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.values().filter_map(|shown| shown.bar.as_ref()).for_each(ProgressBar::abandon);
    }

    /// What came of it, when nothing more will.
    pub(super) fn outcome(&self, boot: &Boot) {
        if matches!(self.form, Form::Json) {
            return;
        }
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

impl Shown {
    /// Lines for what changed.
    fn news(&mut self, boot: &Boot) -> String {
        let name = plain(boot.name());
        let mut text = String::new();
        for remark in boot.remarks.iter().skip(self.remarks) {
            let _ = writeln!(text, "{name}: {}", plain(&remark.text));
        }
        self.remarks = boot.remarks.len();
        for step in &boot.steps {
            let before = self.steps.insert(step.name.clone(), step.state.clone());
            if before.as_ref() != Some(&step.state) && step.state != "waiting" {
                let _ = writeln!(text, "{name}: {}", plain(&as_text(step)));
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

fn new_bar(bars: &MultiProgress, boot: &Boot) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {prefix}  {elapsed:>4}  {wide_msg}");
    // A host without a name has its BMC's, without the rest of the address: the line is for what happens.
    let name = boot.name();
    let name = name.split_once("://").map_or(name, |(_, rest)| rest.split('/').next().unwrap_or(rest));
    let bar = bars.add(ProgressBar::new_spinner().with_prefix(plain(name)));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// What a boot is at, in a line.
fn now(boot: &Boot) -> String {
    if let Some(last) = boot.steps.iter().find(|step| matches!(step.state.as_str(), "failed" | "unknown")) {
        return as_text(last);
    }
    match boot.steps.iter().find(|step| step.state == "running") {
        Some(step) => match &boot.progress {
            Some(progress) => format!("{}: {progress}", step.name),
            None => step.name.clone(),
        },
        None => boot.state.clone(),
    }
}

fn as_text(step: &Step) -> String {
    let mut text = format!("{} {}", step.name, step.state);
    if let Some(seconds) = step.seconds.filter(|seconds| *seconds >= 0.1) {
        let _ = write!(text, " ({seconds:.1} s)");
    }
    if let Some(said) = step.error.as_ref().or(step.detail.as_ref()) {
        let _ = write!(text, ": {said}");
    }
    text
}

/// What was found in the documents, as the other commands show it.
pub(super) fn findings(findings: &[Finding]) -> String {
    let line = |Finding { severity, code, message, position }: &Finding| {
        crate::commands::findings::line(severity, position.as_ref(), message, code)
    };
    findings.iter().map(line).collect()
}
