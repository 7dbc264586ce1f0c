//! From the documents of a request to hosts and their keyfiles, or to a problem that says where they are wrong.

use hosts::every_host::{self, Converted};
use hosts::input::{self, ChooseError, Input};
use hosts::network::{ConvertedNetwork, NetworkFiles, convert_network};
use hosts::network::{HostNetwork, NetworkManagerVersion};
use vocabulary::host::HostSpec;
use vocabulary::report::Report;

use super::problem::{Problem, ProblemKind};
use super::user_documents::UserDocuments;

/// The one host that `documents` describe, or the one of them that is called `name`, with warnings.
pub(super) fn one_host(documents: &UserDocuments, name: Option<&str>) -> Result<(HostSpec, Report), Problem> {
    let Input { hosts, report, .. } = read(documents)?;
    Ok((choose(hosts, name, &report)?, report))
}

/// Its network, in the form that a system takes; see [`convert_network`]. What is found is added to the report;
/// where in the documents it is, is known of errors only, see [`locate`].
pub(super) fn network(
    host: &HostSpec,
    documents: Option<&UserDocuments>,
    files: NetworkFiles,
    release: Option<NetworkManagerVersion>,
    no_auto_default: bool,
    report: &mut Report,
) -> Result<ConvertedNetwork, Problem> {
    let (network, findings) = convert_network(host, files, release, no_auto_default);
    report.append(findings);
    network.ok_or_else(|| {
        if let Some(documents) = documents {
            locate(documents, report);
        }
        refused(report)
    })
}

/// All hosts that `documents` describe, or the one of them that is called `name`, with warnings.
pub(super) fn hosts(documents: &UserDocuments, name: Option<&str>) -> Result<(Vec<HostSpec>, Report), Problem> {
    let Input { mut hosts, report, .. } = read(documents)?;
    if name.is_some() || hosts.is_empty() {
        hosts = vec![choose(hosts, name, &report)?];
    }
    Ok((hosts, report))
}

/// All hosts that `documents` describe, or the one of them that is called `name`, each with its network, and what is wrong
/// with them, for a release of NetworkManager on the hosts, where it is known.
pub(super) fn convert(
    documents: &UserDocuments,
    name: Option<&str>,
    release: Option<NetworkManagerVersion>,
) -> Result<Converted, Problem> {
    let mut input = input::read_all(documents.texts());
    // Where documents could not be read, it is not known whether the host is among them.
    if name.is_some() && !input.report.has_errors() {
        input.report.append(every_host::between_hosts(&input));
        let Input { hosts, report, .. } = input;
        input = Input { hosts: vec![choose(hosts, name, &report)?], report, ..Input::default() };
    }
    let mut converted = every_host::convert_for(input, release);
    locate(documents, &mut converted.report);
    Ok(converted)
}

/// The networks of all hosts of some documents.
pub(super) struct Networks {
    /// What the documents call each host, and its network.
    pub(super) hosts: Vec<(Option<String>, HostNetwork)>,
    /// Warnings.
    pub(super) report: Report,
}

/// The networks of all hosts that `documents` describe, or of the one of them that is called `name`. There is nothing wrong
/// with any.
pub(super) fn networks(documents: &UserDocuments, name: Option<&str>) -> Result<Networks, Problem> {
    let Converted { hosts, report, .. } = convert(documents, name, None)?;
    if report.has_errors() {
        return Err(refused(&report));
    }
    if hosts.is_empty() {
        choose(Vec::new(), name, &report)?;
    }
    let hosts = hosts.into_iter().filter_map(|(host, network)| Some((host.name, network?))).collect();
    Ok(Networks { hosts, report })
}

/// What `documents` say, with warnings. There is nothing wrong between the hosts.
fn read(documents: &UserDocuments) -> Result<Input, Problem> {
    let mut input = input::read_all(documents.texts());
    input.report.append(every_host::between_hosts(&input));
    locate(documents, &mut input.report);
    if input.report.has_errors() { Err(refused(&input.report)) } else { Ok(input) }
}

/// Says of findings where in the documents they are. That reads the documents once more: of many hosts, it is done once.
pub(super) fn locate(documents: &UserDocuments, report: &mut Report) {
    input::locate(documents.texts(), report);
}

/// [`input::choose`], with a problem for an error.
fn choose(hosts: Vec<HostSpec>, name: Option<&str>, report: &Report) -> Result<HostSpec, Problem> {
    input::choose(hosts, name).map_err(|error| {
        let kind = match error {
            ChooseError::NoHost => ProblemKind::NoHost,
            ChooseError::Several { .. } | ChooseError::Ambiguous { .. } => ProblemKind::SeveralHosts,
            ChooseError::Unknown { .. } => ProblemKind::UnknownHost,
        };
        let hint = if matches!(error, ChooseError::Several { .. }) { " (parameter host)" } else { "" };
        Problem::new(kind, format!("{error}{hint}")).with_known(error.names().to_vec()).with_findings(report)
    })
}

fn refused(report: &Report) -> Problem {
    let errors = report.findings().iter().filter(|finding| finding.severity == vocabulary::report::Severity::Error);
    let mut errors = errors.peekable();
    let first = errors.next().map(ToString::to_string).unwrap_or_default();
    let detail = match errors.count() {
        0 => first,
        more => format!("{first} (and {more} more; see findings)"),
    };
    Problem::new(ProblemKind::DocumentsRefused, detail).with_findings(report)
}
