//! From the documents of a request to hosts and their keyfiles, or to a problem that says where they are wrong.

use imagelib::check;
use imagelib::delivery::{self, ConvertedNetwork, NetworkFiles};
use imagelib::host::HostSpec;
use imagelib::input::{self, ChooseError, Input, Text};
use imagelib::network::{self, HostNetwork};
use imagelib::report::Report;

use super::problem::{Problem, ProblemKind};

/// The one host that `documents` describe, or the one of them that is called `name`, with warnings.
pub(super) fn one_host(documents: &[u8], name: Option<&str>) -> Result<(HostSpec, Report), Problem> {
    let Input { hosts, report, .. } = read(documents)?;
    Ok((choose(hosts, name, &report)?, report))
}

/// Its network, in the form that a system takes; see [`delivery::convert_network`]. What is found is added to the report,
/// with its places in the documents, where these are given.
pub(super) fn network(
    host: &HostSpec,
    documents: Option<&[u8]>,
    files: NetworkFiles,
    no_auto_default: bool,
    report: &mut Report,
) -> Result<ConvertedNetwork, Problem> {
    let (network, findings) = delivery::convert_network(host, files, no_auto_default);
    report.append(findings);
    if let Some(documents) = documents {
        locate(documents, report);
    }
    network.ok_or_else(|| refused(report))
}

/// All hosts of some documents.
pub(super) struct Converted {
    /// What the documents call each host, and its network.
    pub hosts: Vec<(Option<String>, HostNetwork)>,
    /// Warnings, of the documents and of the conversions.
    pub report: Report,
}

/// All hosts that `documents` describe, or the one of them that is called `name`, with warnings.
pub(super) fn hosts(documents: &[u8], name: Option<&str>) -> Result<(Vec<HostSpec>, Report), Problem> {
    let Input { mut hosts, report, .. } = read(documents)?;
    if name.is_some() || hosts.is_empty() {
        hosts = vec![choose(hosts, name, &report)?];
    }
    Ok((hosts, report))
}

/// The networks of all hosts that `documents` describe, or of the one of them that is called `name`.
pub(super) fn all_hosts(documents: &[u8], name: Option<&str>) -> Result<Converted, Problem> {
    let (hosts, mut report) = hosts(documents, name)?;
    let mut converted = Vec::new();
    for host in hosts {
        let (network, findings) = network::convert(&host);
        report.append(findings);
        converted.extend(network.map(|network| (host.name, network)));
    }
    locate(documents, &mut report);
    if report.has_errors() { Err(refused(&report)) } else { Ok(Converted { hosts: converted, report }) }
}

/// What `documents` say, with warnings. There is nothing wrong between the hosts.
fn read(documents: &[u8]) -> Result<Input, Problem> {
    let mut input = input::read(documents);
    input.report.append(check::between_hosts(&input));
    locate(documents, &mut input.report);
    if input.report.has_errors() { Err(refused(&input.report)) } else { Ok(input) }
}

/// Says of findings where in the documents they are.
pub(super) fn locate(documents: &[u8], report: &mut Report) {
    input::locate([Text { name: None, text: documents }], report);
}

/// [`input::choose`], with a problem for an error.
pub(super) fn choose(hosts: Vec<HostSpec>, name: Option<&str>, report: &Report) -> Result<HostSpec, Problem> {
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
    let errors = report.findings().iter().filter(|finding| finding.severity == imagelib::report::Severity::Error);
    let mut errors = errors.peekable();
    let first = errors.next().map(ToString::to_string).unwrap_or_default();
    let detail = match errors.count() {
        0 => first,
        more => format!("{first} (and {more} more; see findings)"),
    };
    Problem::new(ProblemKind::DocumentsRefused, detail).with_findings(report)
}
