//! From the documents of a request to hosts and their keyfiles, or to a problem that says where they are wrong.

use std::collections::BTreeSet;

use imagelib::host::{HostName, HostSpec};
use imagelib::input::{self, Input};
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
    let host = select(hosts, name).map_err(|problem| problem.with_findings(&report))?;
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
        hosts = vec![select(hosts, name).map_err(|problem| problem.with_findings(&report))?];
    }
    let mut converted = Vec::new();
    for host in hosts {
        let (network, findings) = network::convert(&host);
        report.append(findings);
        converted.extend(network.map(|network| (host.name, network)));
    }
    if report.has_errors() { Err(refused(&report)) } else { Ok(Converted { hosts: converted, report }) }
}

fn select(hosts: Vec<HostSpec>, name: Option<&str>) -> Result<HostSpec, Problem> {
    let names = |hosts: &[HostSpec]| -> Vec<String> {
        hosts.iter().filter_map(called).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let Some(name) = name else {
        let mut hosts = hosts;
        return match hosts.len() {
            0 => {
                Err(Problem::new(ProblemKind::NoHost, "there is neither a BareMetalHost nor NMState in the documents"))
            }
            1 => Ok(hosts.remove(0)),
            count => {
                let detail = format!(
                    "an image is for one host, and the documents describe {count}; name one with the parameter host"
                );
                Err(Problem::new(ProblemKind::SeveralHosts, detail).with_known(names(&hosts)))
            }
        };
    };
    let known = names(&hosts);
    let mut matching = hosts.into_iter().filter(|host| called(host).as_deref() == Some(name));
    match (matching.next(), matching.next()) {
        (Some(host), None) => Ok(host),
        (Some(_), Some(_)) => {
            let detail = format!("more than one host in the documents is called {name:?}; send only the one meant");
            Err(Problem::new(ProblemKind::SeveralHosts, detail).with_known(known))
        }
        (None, _) if known.is_empty() => {
            let detail = format!("no host in the documents is called {name:?}; none has a name at all");
            Err(Problem::new(ProblemKind::UnknownHost, detail).with_known(known))
        }
        (None, _) => {
            let detail = format!("no host in the documents is called {name:?}; there are: {}", known.join(", "));
            Err(Problem::new(ProblemKind::UnknownHost, detail).with_known(known))
        }
    }
}

/// What a host is selected by.
fn called(host: &HostSpec) -> Option<String> {
    host.name.clone().or_else(|| host.hostname.as_ref().map(HostName::to_string))
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
