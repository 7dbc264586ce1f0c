//! `dayone doctor`: tests how readers of virtual media would read a URL.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::BinaryBytes;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::failure::{Failure, block_on};
use super::findings::counted;
use super::terminal::{self, ERROR, WARNING, plain};
use crate::arguments::{DoctorArguments, OutputFormat};
use doctor::{self, Diagnosis, Examination, Finding, Options, Severity, Trust};

/// The style of a success on a terminal.
const OK: Style = AnsiColor::Green.on_default().bold();

pub(super) fn run(arguments: &DoctorArguments) -> Result<(), Failure> {
    let trust = match &arguments.ca {
        Some(path) => Trust::Authorities(certificates(path)?),
        None if arguments.insecure => Trust::Anything,
        None => Trust::System,
    };
    let options = Options { trust, slow: Duration::from_secs(arguments.slow) };
    let diagnosis = block_on(doctor::examine(&arguments.url, &options))?;
    let diagnosis = diagnosis.map_err(|error| Failure::System(error.to_string()))?;
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&diagnosis)?,
        OutputFormat::Text => terminal::print(&as_text(&diagnosis))?,
    }
    if diagnosis.outcome == Severity::Fails { Err(Failure::Findings) } else { Ok(()) }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let what = || format!("cannot read the certificates of {}", path.display());
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| Failure::system(&what(), &error))?;
    if found.is_empty() { Err(Failure::System(format!("{}: the file has none", what()))) } else { Ok(found) }
}

fn as_text(diagnosis: &Diagnosis) -> String {
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
        "{}, {}; {} requests, {}, {:.0} s",
        counted(diagnosis.count(Severity::Fails), "failure"),
        counted(diagnosis.count(Severity::Warning), "warning"),
        diagnosis.requests,
        BinaryBytes(diagnosis.bytes),
        diagnosis.seconds
    );
    text
}

/// Writes an examination. `shown` has the advice that is not repeated.
fn write_examination(text: &mut String, examination: &Examination, shown: &mut BTreeSet<&'static str>) {
    let style = style(examination.outcome);
    let outcome = examination.outcome.to_string();
    let _ = writeln!(text, "{style}{outcome:<7}{style:#}  {}", examination.title);
    for finding in &examination.findings {
        let advice = if shown.insert(finding.advice) { finding.advice } else { "" };
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
        Severity::Warning => WARNING,
        Severity::Fails => ERROR,
    }
}
