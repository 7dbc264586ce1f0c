//! From the documents of a request to hosts and their keyfiles, or to a problem that says where they are wrong.

use imagelib::host::HostSpec;
use imagelib::input::{self, ChooseError, Input};
use imagelib::network::{self, HostNetwork};
use imagelib::report::Report;

use super::problem::{Problem, ProblemKind};

/// A host of the documents, its network converted.
pub(super) struct Host {
    /// What the documents call it.
    pub name: Option<String>,
    /// Its keyfiles and its host name.
    pub network: HostNetwork,
    /// Warnings, of the documents and of the conversion.
    pub report: Report,
}

/// The one host that `documents` describe, or the one of them that is called `name`.
pub(super) fn one_host(documents: &[u8], name: Option<&str>) -> Result<Host, Problem> {
    let Input { hosts, mut report } = input::read(documents);
    if report.has_errors() {
        return Err(refused(&report));
    }
    let host = choose(hosts, name, &report)?;
    let (network, findings) = network::convert(&host);
    report.append(findings);
    match network {
        Some(network) => Ok(Host { name: host.name, network, report }),
        None => Err(refused(&report)),
    }
}

/// All hosts of some documents.
pub(super) struct Converted {
    /// What the documents call each host, and its network.
    pub hosts: Vec<(Option<String>, HostNetwork)>,
    /// Warnings, of the documents and of the conversions.
    pub report: Report,
}

/// All hosts that `documents` describe, or the one of them that is called `name`.
pub(super) fn all_hosts(documents: &[u8], name: Option<&str>) -> Result<Converted, Problem> {
    let Input { mut hosts, mut report } = input::read(documents);
    if report.has_errors() {
        return Err(refused(&report));
    }
    if name.is_some() || hosts.is_empty() {
        hosts = vec![choose(hosts, name, &report)?];
    }
    let mut converted = Vec::new();
    for host in hosts {
        let (network, findings) = network::convert(&host);
        report.append(findings);
        converted.extend(network.map(|network| (host.name, network)));
    }
    if report.has_errors() { Err(refused(&report)) } else { Ok(Converted { hosts: converted, report }) }
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
    let errors = report.findings().iter().filter(|finding| finding.severity == imagelib::report::Severity::Error);
    let mut errors = errors.peekable();
    let first = errors.next().map(ToString::to_string).unwrap_or_default();
    let detail = match errors.count() {
        0 => first,
        more => format!("{first} (and {more} more; see findings)"),
    };
    Problem::new(ProblemKind::DocumentsRefused, detail).with_findings(report)
}
