//! From the documents of a request to hosts and their keyfiles, or to a problem that says where they are wrong.

use hosts::every_host::{Converted, ConvertedHost, EveryHost};
use hosts::input::{self, ChooseError};
use hosts::network::{ConvertedNetwork, Target};
use vocabulary::host::HostSpec;
use vocabulary::report::Report;

use super::problem::{Problem, ProblemKind};
use super::user_documents::UserDocuments;

/// The one host that `documents` describe, or the one of them that is called `name`, with its network, and warnings.
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

/// All hosts that `documents` describe, or the one of them that is called `name`, and warnings about all of them. There is
/// nothing wrong with the documents; with a host by itself there may be.
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

/// The hosts of [`hosts`], each with its network. There is nothing wrong with any.
pub(super) fn good_hosts(
    documents: &UserDocuments,
    name: Option<&str>,
    target: Target,
) -> Result<(Vec<(HostSpec, ConvertedNetwork)>, Report), Problem> {
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

/// All hosts that `documents` describe, or the one of them that is called `name`, each with its network, and what is wrong
/// with them.
pub(super) fn convert(documents: &UserDocuments, name: Option<&str>, target: Target) -> Result<Converted, Problem> {
    let input = input::read_all(documents.texts());
    // Where documents could not be read, it is not known whether the host is among them.
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

/// The networks of all hosts of some documents.
pub(super) struct Networks {
    /// What the documents call each host, and its network.
    pub(super) hosts: Vec<(Option<String>, ConvertedNetwork)>,
    /// Warnings.
    pub(super) report: Report,
}

/// The networks of all hosts that `documents` describe, or of the one of them that is called `name`. There is nothing wrong
/// with any.
pub(super) fn networks(documents: &UserDocuments, name: Option<&str>) -> Result<Networks, Problem> {
    let Converted { hosts, report, .. } = convert(documents, name, Target::default())?;
    if report.has_errors() {
        return Err(refused(&report));
    }
    if hosts.is_empty() {
        return Err(unclear(&ChooseError::NoHost, &report));
    }
    let hosts = hosts.into_iter().filter_map(|(host, network)| Some((host.name, network?))).collect();
    Ok(Networks { hosts, report })
}

/// What `documents` say, with warnings. There is nothing wrong with the documents, or between the hosts.
fn read(documents: &UserDocuments, target: Target) -> Result<(EveryHost, Report), Problem> {
    let mut every = EveryHost::convert(input::read_all(documents.texts()), target);
    let mut report = every.take_common_findings();
    if report.has_errors() {
        locate(documents, &mut report);
        return Err(refused(&report));
    }
    Ok((every, report))
}

/// Says of findings where in the documents they are. That reads the documents once more: of many hosts, it is done once.
pub(super) fn locate(documents: &UserDocuments, report: &mut Report) {
    input::locate(documents.texts(), report);
}

/// [`EveryHost::choose`], with a problem for an error.
fn choose(every: EveryHost, name: Option<&str>, report: &Report) -> Result<ConvertedHost, Problem> {
    every.choose(name).map_err(|error| unclear(&error, report))
}

/// It is not clear which host is meant.
fn unclear(error: &ChooseError, report: &Report) -> Problem {
    let kind = match error {
        ChooseError::NoHost => ProblemKind::NoHost,
        ChooseError::Several { .. } | ChooseError::Ambiguous { .. } => ProblemKind::SeveralHosts,
        ChooseError::Unknown { .. } => ProblemKind::UnknownHost,
    };
    let hint = if matches!(error, ChooseError::Several { .. }) { " (parameter host)" } else { "" };
    Problem::new(kind, format!("{error}{hint}")).with_known(error.names().to_vec()).with_findings(report)
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
