//! `dayone check`: what is wrong with documents.

use imagelib::network::NMSTATE_VERSION;
use imagelib::report::Report;
use serde::Serialize;

use super::failure::Failure;
use super::{documents, findings, terminal};
use crate::arguments::{CheckArguments, OutputFormat};

#[derive(Serialize)]
struct Checked<'a> {
    /// The hosts that were found, by name; a document without a name is null.
    hosts: Vec<Option<&'a str>>,
    findings: &'a Report,
    /// The release of nmstate that was asked.
    nmstate: &'static str,
}

pub(super) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let checked = documents::read(&arguments.files)?;
    let report = &checked.report;
    match arguments.format {
        OutputFormat::Text => {
            let hosts = match checked.hosts.len() {
                1 => "1 host".to_owned(),
                count => format!("{count} hosts"),
            };
            let found = if arguments.short { findings::as_text(report) } else { findings::in_full(report) };
            terminal::print(&format!("{found}{hosts}: {}\n", findings::summary(report)))?;
        }
        OutputFormat::Json => {
            let hosts = checked.hosts.iter().map(|(host, _)| host.name.as_deref()).collect();
            terminal::print_json(&Checked { hosts, findings: report, nmstate: NMSTATE_VERSION })?;
        }
    }
    let outcome = if report.has_errors() { Err(Failure::Findings) } else { Ok(()) };
    // The process ends here: to free ten thousand hosts one value after the other takes longer than to check them against
    // each other.
    std::mem::forget(checked);
    outcome
}
