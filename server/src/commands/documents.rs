//! Reads the user's documents from files, and converts the hosts in them.

use hosts::every_host::{Converted, ConvertedHost, EachHost, EveryHost};
use hosts::input::{self, ChooseError, Limits, Text};
use hosts::network::{ConvertedNetwork, NetworkManagerVersion, Target};
use vocabulary::host::{HostBmc, HostSpec};
use vocabulary::report::Report;

use super::failure::Failure;
use super::files::ReadFile;
use super::{files, findings, terminal};
use crate::arguments::InputFile;

/// Files with documents, which have been read.
pub(super) struct Documents(Vec<ReadFile>);

impl Documents {
    fn read(files: &[InputFile]) -> Result<Self, Failure> {
        files::read_all(files).map(Self)
    }

    fn texts(&self) -> impl Iterator<Item = Text<'_>> {
        // With a single file, findings need no file name: the user has just typed it.
        let several = self.0.len() > 1;
        self.0.iter().map(move |ReadFile { name, found, content }| {
            let named = several || *found || Text::needs_name(name);
            Text { name: named.then_some(name.as_str()), text: content }
        })
    }

    /// Adds their positions in the files to findings.
    fn locate(&self, report: &mut Report) {
        input::locate_within(Limits::FILES, self.texts(), report);
        if let [only] = self.0.as_slice() {
            report.in_file(&only.name);
        }
    }
}

/// Reads files as one set of documents, and converts and checks every host in it, for the release of NetworkManager on the hosts
/// if it is known.
pub(super) fn convert(files: &[InputFile], release: Option<NetworkManagerVersion>) -> Result<Converted, Failure> {
    let documents = Documents::read(files)?;
    let input = input::read_within(Limits::FILES, documents.texts());
    let mut converted = EveryHost::convert(input, Target::keyfiles(release)).into_converted();
    documents.locate(&mut converted.report);
    Ok(converted)
}

/// Returns the only host in the files, or the host `name`, with its network for the given target and with warnings. Prints errors.
pub(super) fn one_host(
    files: &[InputFile],
    name: Option<&str>,
    target: Target,
) -> Result<(HostSpec, ConvertedNetwork, Report), Failure> {
    let documents = Documents::read(files)?;
    let mut every = EveryHost::convert(input::read_within(Limits::FILES, documents.texts()), target);
    let mut report = every.take_common_findings();
    documents.locate(&mut report);
    // A document with errors may describe the selected host.
    if report.has_errors() {
        return Err(print_findings(&report));
    }
    let ConvertedHost { host, network, findings } = every.choose(name).map_err(|error| {
        // The warnings tell why dayone left out a host.
        print_findings(&report);
        match error {
            ChooseError::NoHost => Failure::Input(error.to_string()),
            _ => Failure::System(format!("{error} (--host NAME)")),
        }
    })?;
    report.append(target.findings());
    report.append(findings);
    documents.locate(&mut report);
    match network {
        Some(network) => Ok((host, network, report)),
        None => Err(print_findings(&report)),
    }
}

/// Returns each host in the files with the findings about it. Prints the findings about all of them, and fails if one of these is
/// an error that may concern every host.
pub(super) fn each_host(files: &[InputFile], target: Target) -> Result<EachHost, Failure> {
    let documents = Documents::read(files)?;
    let input = input::read_within(Limits::FILES, documents.texts());
    let mut each = EveryHost::convert(input, target).into_each();
    each.with_all_findings(|report| documents.locate(report));
    if each.is_refused {
        return Err(print_findings(&each.into_report()));
    }
    terminal::remark(&findings::as_text(&each.common));
    if each.hosts.is_empty() { Err(Failure::Input(ChooseError::NoHost.to_string())) } else { Ok(each) }
}

pub(super) fn print_findings(report: &Report) -> Failure {
    terminal::remark(&findings::as_text(report));
    Failure::Findings
}

/// Returns the BMC of the only host in the files that has one, or of the host `name`. Prints errors.
pub(super) fn one_bmc(files: &[InputFile], name: Option<&str>) -> Result<HostBmc, Failure> {
    let documents = Documents::read(files)?;
    let (mut bmcs, mut report) = input::read_bmcs(documents.texts());
    documents.locate(&mut report);
    if report.has_errors() {
        return Err(print_findings(&report));
    }
    if let Some(name) = name {
        bmcs.retain(|host| host.name == name);
    }
    let names: Vec<&str> = bmcs.iter().map(|host| host.name.as_str()).collect();
    if names.len() > 1 {
        let names = names.join(", ");
        return Err(Failure::System(format!("several hosts have a BMC: {names}; select one with --host NAME")));
    }
    bmcs.pop().ok_or_else(|| match name {
        Some(name) => Failure::Input(format!("the documents have no host {name:?} with a BMC address")),
        None => Failure::Input("the documents have no host with a BMC address".to_owned()),
    })
}
