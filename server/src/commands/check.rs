//! `dayone check`: finds mistakes in documents.

use hosts::network::{NMSTATE_VERSION, NetworkManagerVersion};
use serde::Serialize;

use super::base::OpenedBase;
use super::failure::Failure;
use super::{documents, findings as text, terminal};
use crate::arguments::{CheckArguments, OutputFormat};
use crate::findings::{FindingBody, NetworkManagerBody, findings};

#[derive(Serialize)]
struct Checked<'a> {
    /// The names of the hosts; null for a host without a name.
    hosts: Vec<Option<&'a str>>,
    findings: Vec<FindingBody>,
    /// The version of nmstate that converted the documents.
    nmstate_version: &'static str,
    network_manager: NetworkManagerBody,
}

pub(super) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let release = release(arguments)?;
    let checked = documents::convert(&arguments.files, release)?;
    let report = &checked.report;
    match arguments.format {
        OutputFormat::Text => {
            let hosts = match checked.hosts.len() {
                1 => "1 host".to_owned(),
                count => format!("{count} hosts"),
            };
            let found = if arguments.short { text::as_text(report) } else { text::in_full(report) };
            let release = release.map(|release| format!(" (for NetworkManager {release})")).unwrap_or_default();
            terminal::print(&format!("{found}{hosts}: {}{release}\n", text::summary(report)))?;
        }
        OutputFormat::Json => {
            let hosts = checked.hosts.iter().map(|(host, _)| host.name.as_deref()).collect();
            terminal::print_json(&Checked {
                hosts,
                findings: findings(report),
                nmstate_version: NMSTATE_VERSION,
                network_manager: NetworkManagerBody::checked_for(release),
            })?;
        }
    }
    let outcome = if report.has_errors() { Err(Failure::Findings) } else { Ok(()) };
    // The process ends here. To free ten thousand hosts takes longer than to compare them with each other.
    std::mem::forget(checked);
    outcome
}

/// Returns the release of NetworkManager in the arguments or in the base.
fn release(arguments: &CheckArguments) -> Result<Option<NetworkManagerVersion>, Failure> {
    let Some(base) = &arguments.base else { return Ok(arguments.network_manager) };
    let release = OpenedBase::open(base)?.base.network_manager_version();
    if release.is_none() {
        terminal::remark("the base does not show its release of NetworkManager; dayone assumes 1.42\n");
    }
    Ok(release)
}
