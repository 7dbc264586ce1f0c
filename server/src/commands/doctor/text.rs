//! A diagnosis as text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use doctor::{Diagnosis, Examination, Finding, Severity};
use indicatif::BinaryBytes;

use super::super::findings::counted;
use super::super::terminal::{ERROR, WARNING, plain};

/// The style of a success on a terminal.
const OK: Style = AnsiColor::Green.on_default().bold();

pub(super) fn as_text(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    let size = diagnosis.size.map(|size| format!(": {}", BinaryBytes(size))).unwrap_or_default();
    // Writing to a String does not fail.
    let _ = writeln!(text, "{}{size}", plain(&diagnosis.url));
    let mut shown = BTreeSet::new();
    for examination in &diagnosis.examinations {
        write_examination(&mut text, examination, &mut shown);
    }
    let _ = writeln!(
        text,
        "{}, {}{}; {} requests, {}, {:.0} s",
        counted(diagnosis.count(Severity::Fails), "failure"),
        counted(diagnosis.count(Severity::Warning), "warning"),
        unknown(diagnosis.count(Severity::Unknown)),
        diagnosis.requests,
        BinaryBytes(diagnosis.bytes),
        diagnosis.seconds
    );
    text
}

/// Writes an examination. `shown` has the advice that is not repeated.
fn write_examination(text: &mut String, examination: &Examination, shown: &mut BTreeSet<String>) {
    let style = style(examination.outcome);
    let outcome = examination.outcome.to_string();
    let _ = writeln!(text, "{style}{outcome:<7}{style:#}  {}", examination.title);
    for finding in &examination.findings {
        let advice = if shown.insert(finding.advice.to_string()) { &*finding.advice } else { "" };
        write_finding(text, finding, advice);
    }
}

fn write_finding(text: &mut String, finding: &Finding, advice: &str) {
    let style = style(finding.severity);
    let _ =
        writeln!(text, "         {style}{}:{style:#} {} [{}]", finding.severity, plain(&finding.message), finding.code);
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "           {name:<9}{}", plain(value));
        }
    };
    let affects: Vec<&str> = finding.affects.iter().map(|reader| reader.name()).collect();
    line("affects", &affects.join(", "));
    if let Some(evidence) = &finding.evidence {
        line("asked", &evidence.request);
        line("got", &evidence.answer);
    }
    line("do", advice);
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Ok => OK,
        Severity::Unknown | Severity::Warning => WARNING,
        Severity::Fails => ERROR,
    }
}

/// How many things are unknown, if any are.
fn unknown(count: usize) -> String {
    if count == 0 { String::new() } else { format!(", {count} unknown") }
}
