//! The user's documents: read from files, and the networks that they describe.

use std::fs::File;
use std::io::{self, Read};

use imagelib::delivery::{self, ConvertedNetwork, NetworkFiles};
use imagelib::host::{HostBmc, HostSpec};
use imagelib::input::{self, ChooseError, Input};
use imagelib::network::{self, HostNetwork};
use imagelib::report::Report;

use super::failure::Failure;
use super::{findings, terminal};
use crate::arguments::InputFile;

/// Where reading stops. The library takes far less, and says so; this is for what never ends.
const MOST: u64 = 64 << 20;

/// What the documents say.
pub(super) struct Hosts {
    /// The hosts, each with its network; none where the report has an error about it.
    pub(super) hosts: Vec<(HostSpec, Option<HostNetwork>)>,
    /// What the user should know.
    pub(super) report: Report,
}

/// Reads files as one set of documents and converts every host in it.
pub(super) fn read(files: &[InputFile]) -> Result<Hosts, Failure> {
    let specs = input_of(files)?;
    let mut report = specs.report;
    let hosts = specs.hosts.into_iter().map(|host| {
        let (network, findings) = network::convert(&host);
        report.append(findings);
        (host, network)
    });
    Ok(Hosts { hosts: hosts.collect(), report })
}

/// The only host in the files, or the one called `name`, with warnings. Errors have been shown.
pub(super) fn one_host(files: &[InputFile], name: Option<&str>) -> Result<(HostSpec, Report), Failure> {
    let Input { hosts, report } = input_of(files)?;
    // An error in a document may be about the host that is meant, or keep it from being seen.
    if report.has_errors() {
        return Err(shown(&report));
    }
    let host = input::choose(hosts, name).map_err(|error| match error {
        ChooseError::NoHost => Failure::Input(error.to_string()),
        _ => Failure::System(format!("{error} (--host-name NAME)")),
    })?;
    Ok((host, report))
}

/// Its network, in the form that a system takes; see [`delivery::convert_network`]. What is found is added to the report.
/// Errors have been shown.
pub(super) fn network(
    host: &HostSpec,
    files: NetworkFiles,
    no_auto_default: bool,
    report: &mut Report,
) -> Result<ConvertedNetwork, Failure> {
    let (network, findings) = delivery::convert_network(host, files, no_auto_default);
    report.append(findings);
    network.ok_or_else(|| shown(report))
}

fn shown(report: &Report) -> Failure {
    terminal::remark(&findings::as_text(report));
    Failure::Findings
}

/// The BMC of the only host in the files that has one, or of the one called `name`. Errors have been shown.
pub(super) fn one_bmc(files: &[InputFile], name: Option<&str>) -> Result<HostBmc, Failure> {
    let contents = contents_of(files)?;
    let (mut bmcs, report) = input::read_bmcs(texts(&contents));
    if report.has_errors() {
        return Err(shown(&report));
    }
    if let Some(name) = name {
        bmcs.retain(|host| host.name == name);
    }
    let names: Vec<&str> = bmcs.iter().map(|host| host.name.as_str()).collect();
    if names.len() > 1 {
        let names = names.join(", ");
        return Err(Failure::System(format!(
            "one BMC at a time, and these hosts have one: {names} (--host-name NAME)"
        )));
    }
    bmcs.pop().ok_or_else(|| match name {
        Some(name) => Failure::Input(format!("the documents have no BareMetalHost {name:?} with spec.bmc.address")),
        None => Failure::Input("the documents have no BareMetalHost with spec.bmc.address".to_owned()),
    })
}

fn input_of(files: &[InputFile]) -> Result<Input, Failure> {
    Ok(input::read_all(texts(&contents_of(files)?)))
}

/// The contents of the files, with their names.
fn contents_of(files: &[InputFile]) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    if files.iter().filter(|file| **file == InputFile::StandardInput).count() > 1 {
        return Err(Failure::System("standard input (-) can be read only once".to_owned()));
    }
    files.iter().map(|file| Ok((file.to_string(), read_file(file)?))).collect()
}

fn texts(contents: &[(String, Vec<u8>)]) -> impl Iterator<Item = input::Text<'_>> {
    // Of a single file, every finding would begin with a name that the user has just typed.
    let named = contents.len() > 1;
    contents.iter().map(move |(name, text)| input::Text { name: named.then_some(name.as_str()), text })
}

/// The content of a small file, or of standard input.
pub(super) fn read_file(file: &InputFile) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    let result = match file {
        InputFile::StandardInput => io::stdin().lock().take(MOST).read_to_end(&mut content),
        InputFile::Path(path) => File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut content)),
    };
    match result {
        Ok(_) => Ok(content),
        Err(error) => Err(Failure::system(&format!("cannot read {file}"), &error)),
    }
}
