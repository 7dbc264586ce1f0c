//! Converts the documents of a request to hosts and their networks, or to a problem with findings.

use hosts::every_host::{Converted, ConvertedHost, EachHost, EveryHost};
use hosts::input::{self, ChooseError};
use hosts::network::{ConvertedNetwork, Target};
use vocabulary::host::HostSpec;
use vocabulary::report::Report;

use super::problem::{Problem, ProblemKind};
use super::user_documents::UserDocuments;

/// Hosts with their networks, and warnings.
type HostNetworks = (Vec<(HostSpec, ConvertedNetwork)>, Report);

/// Returns the only host in `documents`, or the host `name`, with its network and warnings.
pub(super) fn one_host(
    documents: &UserDocuments,
    name: Option<&str>,
    target: Target,
) -> Result<(HostSpec, ConvertedNetwork, Report), Problem> {
    let (every, mut report) = read(documents, target)?;
    let ConvertedHost { host, network, findings } = choose(every, name, &report)?;
    report.append(target.findings());
    report.append(findings);
    locate(documents, &mut report);
    match network {
        Some(network) => Ok((host, network, report)),
        None => Err(refused(&report)),
    }
}

/// Returns all hosts in `documents`, or the host `name`, with warnings about all of them. The documents have no errors in
/// common; a single host may still have errors.
pub(super) fn hosts(
    documents: &UserDocuments,
    name: Option<&str>,
    target: Target,
) -> Result<(Vec<ConvertedHost>, Report), Problem> {
    let (every, report) = read(documents, target)?;
    if name.is_some() || every.is_empty() {
        return Ok((vec![choose(every, name, &report)?], report));
    }
    Ok((every.into_hosts(), report))
}

/// Returns the hosts of [`hosts`] with their networks, if none of them has errors.
pub(super) fn good_hosts(
    documents: &UserDocuments,
    name: Option<&str>,
    target: Target,
) -> Result<HostNetworks, Problem> {
    let (hosts, mut report) = hosts(documents, name, target)?;
    report.append(target.findings());
    let mut good = Vec::with_capacity(hosts.len());
    for ConvertedHost { host, network, findings } in hosts {
        report.append(findings);
        good.extend(network.map(|network| (host, network)));
    }
    locate(documents, &mut report);
    if report.has_errors() { Err(refused(&report)) } else { Ok((good, report)) }
}

/// Returns each host in `documents` with the findings about it. Fails if an error may concern every host.
pub(super) fn each_host(documents: &UserDocuments, target: Target) -> Result<EachHost, Problem> {
    let mut each = EveryHost::convert(input::read_all(documents.texts()), target).into_each();
    each.with_all_findings(|report| locate(documents, report));
    if each.is_refused {
        return Err(refused(&each.into_report()));
    }
    if each.hosts.is_empty() {
        return Err(no_single_host(&ChooseError::NoHost, &each.common));
    }
    Ok(each)
}

/// Returns all hosts in `documents`, or the host `name`, with their networks and all findings, including errors.
pub(super) fn convert(documents: &UserDocuments, name: Option<&str>, target: Target) -> Result<Converted, Problem> {
    let input = input::read_all(documents.texts());
    // If some documents cannot be read, the host may be in one of them.
    let choose_one = name.is_some() && !input.report.has_errors();
    let mut every = EveryHost::convert(input, target);
    let mut converted = if choose_one {
        let mut report = every.take_common_findings();
        let ConvertedHost { host, network, findings } = choose(every, name, &report)?;
        report.append(target.findings());
        report.append(findings);
        Converted { hosts: vec![(host, network)], report, ..Converted::default() }
    } else {
        every.into_converted()
    };
    locate(documents, &mut converted.report);
    Ok(converted)
}

/// Returns all hosts in `documents`, or the host `name`, with their networks and warnings. If there are errors, the problem has
/// all of them.
pub(super) fn networks(documents: &UserDocuments, name: Option<&str>) -> Result<HostNetworks, Problem> {
    let Converted { hosts, report, .. } = convert(documents, name, Target::default())?;
    if report.has_errors() {
        return Err(refused(&report));
    }
    if hosts.is_empty() {
        return Err(no_single_host(&ChooseError::NoHost, &report));
    }
    Ok((hosts.into_iter().filter_map(|(host, network)| Some((host, network?))).collect(), report))
}

/// Reads and compares the hosts in `documents`. Fails if the documents have errors in common, or if hosts conflict.
fn read(documents: &UserDocuments, target: Target) -> Result<(EveryHost, Report), Problem> {
    let mut every = EveryHost::convert(input::read_all(documents.texts()), target);
    let mut report = every.take_common_findings();
    if report.has_errors() {
        locate(documents, &mut report);
        return Err(refused(&report));
    }
    Ok((every, report))
}

/// Adds their positions in the documents to findings. This reads the documents again, so do it once for many hosts.
pub(super) fn locate(documents: &UserDocuments, report: &mut Report) {
    input::locate(documents.texts(), report);
}

/// Chooses the only host, or the host `name`.
fn choose(every: EveryHost, name: Option<&str>, report: &Report) -> Result<ConvertedHost, Problem> {
    every.choose(name).map_err(|error| no_single_host(&error, report))
}

/// The problem of a request that does not select exactly one host.
fn no_single_host(error: &ChooseError, report: &Report) -> Problem {
    let kind = match error {
        ChooseError::NoHost => ProblemKind::NoHost,
        ChooseError::Several { .. } | ChooseError::Ambiguous { .. } => ProblemKind::SeveralHosts,
        ChooseError::Unknown { .. } => ProblemKind::UnknownHost,
    };
    let hint = if matches!(error, ChooseError::Several { .. }) { " (parameter host)" } else { "" };
    Problem::new(kind, format!("{error}{hint}")).with_known(error.names().to_vec()).with_findings(report)
}

/// The problem of a host that findings refuse. It may share them with other hosts.
pub(super) fn host_refused(findings: &Report) -> Problem {
    if findings.has_errors() {
        return refused(findings);
    }
    let detail = "the host has the same error as other hosts; see the findings of the whole answer";
    Problem::new(ProblemKind::DocumentsRefused, detail).with_findings(findings)
}

pub(super) fn refused(report: &Report) -> Problem {
    let errors = report.findings().iter().filter(|finding| finding.severity == vocabulary::report::Severity::Error);
    let mut errors = errors.peekable();
    let first = errors.next().map(ToString::to_string).unwrap_or_default();
    let detail = match errors.count() {
        0 => first,
        more => format!("{first} (and {more} more; see findings)"),
    };
    Problem::new(ProblemKind::DocumentsRefused, detail).with_findings(report)
}
