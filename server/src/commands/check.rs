//! `dayone check`: what is wrong with documents.

use hosts::network::{NMSTATE_VERSION, NetworkManagerVersion};
use serde::Serialize;
use vocabulary::report::Report;

use super::base::OpenedBase;
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
    network_manager: NetworkManager,
}

/// The release of NetworkManager that the findings are about.
#[derive(Serialize)]
struct NetworkManager {
    version: NetworkManagerVersion,
    /// Whether nothing says that the hosts have it.
    assumed: bool,
}

pub(super) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let release = release(arguments)?;
    let checked = documents::read_for(&arguments.files, release)?;
    let report = &checked.report;
    match arguments.format {
        OutputFormat::Text => {
            let hosts = match checked.hosts.len() {
                1 => "1 host".to_owned(),
                count => format!("{count} hosts"),
            };
            let found = if arguments.short { findings::as_text(report) } else { findings::in_full(report) };
            let release = release.map(|release| format!(" (for NetworkManager {release})")).unwrap_or_default();
            terminal::print(&format!("{found}{hosts}: {}{release}\n", findings::summary(report)))?;
        }
        OutputFormat::Json => {
            let hosts = checked.hosts.iter().map(|(host, _)| host.name.as_deref()).collect();
            let version = release.unwrap_or(NetworkManagerVersion::ASSUMED);
            let network_manager = NetworkManager { version, assumed: release.is_none() };
            terminal::print_json(&Checked { hosts, findings: report, nmstate: NMSTATE_VERSION, network_manager })?;
        }
    }
    let outcome = if report.has_errors() { Err(Failure::Findings) } else { Ok(()) };
    // The process ends here: to free ten thousand hosts one value after the other takes longer than to check them against
    // each other.
    std::mem::forget(checked);
    outcome
}

/// The release of NetworkManager that the arguments say or the base shows.
fn release(arguments: &CheckArguments) -> Result<Option<NetworkManagerVersion>, Failure> {
    let Some(base) = &arguments.base else { return Ok(arguments.network_manager) };
    let release = OpenedBase::open(base)?.base.network_manager_version();
    if release.is_none() {
        terminal::remark("the base does not show which NetworkManager it has; 1.42 is assumed, as without --base\n");
    }
    Ok(release)
}
