//! `dayone convert`: converts NMState to keyfiles, or shows the network that they describe.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hosts::model::Topology;
use hosts::network::{ConvertedNetwork, Keyfile, NMSTATE_VERSION};
use hosts::topology::Table;
use hosts::topology::svg::Picture;
use serde::Serialize;
use vocabulary::host::{HostName, HostSpec};

use super::failure::Failure;
use super::table::columns;
use super::terminal::HEADING;
use super::{documents, findings, output_files, terminal};
use crate::arguments::{ConvertArguments, OutputFormat};
use crate::findings::FindingBody;

#[derive(Serialize)]
struct Converted<'a> {
    /// The hosts without errors.
    hosts: Vec<ConvertedHost<'a>>,
    findings: Vec<FindingBody>,
    /// The version of nmstate that converted the documents.
    nmstate_version: &'static str,
}

#[derive(Serialize)]
struct ConvertedHost<'a> {
    /// The host's name in the documents.
    name: Option<&'a str>,
    /// The host name that the host gets.
    hostname: Option<&'a HostName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keyfiles: Option<&'a [Keyfile]>,
    /// The host's network, instead of the keyfiles, for `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    topology: Option<&'a Topology>,
}

pub(super) fn run(arguments: &ConvertArguments) -> Result<(), Failure> {
    let converted = documents::convert(&arguments.files, None)?;
    let report = &converted.report;
    let hosts: Vec<(&HostSpec, &ConvertedNetwork)> =
        converted.hosts.iter().filter_map(|(host, network)| Some((host, network.as_ref()?))).collect();
    if !report.has_errors() {
        let mut files = Vec::new();
        if let Some(directory) = &arguments.output {
            files.extend(keyfiles(directory, &hosts)?);
        }
        if let Some(path) = &arguments.svg {
            files.extend(pictures(path, &hosts)?);
        }
        let files: Vec<_> = files.iter().map(|(path, content)| (path.clone(), content.as_ref())).collect();
        output_files::write_all(&files, arguments.force)?;
    }
    match arguments.format {
        OutputFormat::Json => {
            let hosts = hosts.iter().map(|(host, network)| ConvertedHost {
                name: host.name.as_deref(),
                hostname: network.hostname.as_ref(),
                keyfiles: (!arguments.explain).then_some(network.keyfiles.as_slice()),
                topology: arguments.explain.then_some(&network.topology),
            });
            let hosts = hosts.collect();
            terminal::print_json(&Converted {
                hosts,
                findings: crate::findings::findings(report),
                nmstate_version: NMSTATE_VERSION,
            })?;
        }
        OutputFormat::Text => {
            terminal::remark(&findings::as_text(report));
            if arguments.explain {
                terminal::print(&explained(&hosts))?;
            } else if arguments.output.is_none() && arguments.svg.is_none() {
                terminal::print(&as_text(&hosts))?;
            }
        }
    }
    if report.has_errors() { Err(Failure::Findings) } else { Ok(()) }
}

/// Formats the keyfiles, each below its name. NetworkManager reads the headings as comments.
fn as_text(hosts: &[(&HostSpec, &ConvertedNetwork)]) -> String {
    let mut text = String::new();
    for (host, network) in hosts {
        let (directory, host) = match label(host, network) {
            label if hosts.len() > 1 => (format!("{label}/"), format!("{label}: ")),
            _ => (String::new(), String::new()),
        };
        for Keyfile { name, content } in &network.keyfiles {
            let separator = if text.is_empty() { "" } else { "\n" };
            // Writing to a String does not fail.
            let _ = writeln!(text, "{separator}{HEADING}#=== {directory}{name} ==={HEADING:#}\n{}", content.trim_end());
        }
        if let Some(hostname) = &network.hostname {
            let _ = writeln!(text, "\n{HEADING}#=== {host}host name {hostname} ==={HEADING:#}");
        }
    }
    text
}

/// Returns the name of a host's directory: a DNS name, or the MAC address of a host without a name. It has no slash.
fn label(host: &HostSpec, network: &ConvertedNetwork) -> String {
    let hostname = || network.hostname.as_ref().map(ToString::to_string);
    let mac = || host.macs().next().map(|mac| mac.to_string().replace(':', "-"));
    host.name.clone().or_else(hostname).or_else(mac).unwrap_or_else(|| "unnamed".to_owned())
}

/// Formats each host's network below the host's name.
fn explained(hosts: &[(&HostSpec, &ConvertedNetwork)]) -> String {
    let mut text = String::new();
    for (host, network) in hosts {
        let mut heading = label(host, network);
        if let Some(hostname) = network.hostname.as_ref().filter(|hostname| hostname.as_str() != heading) {
            heading = format!("{heading}, host name {hostname}");
        }
        let separator = if text.is_empty() { "" } else { "\n" };
        // Writing to a String does not fail.
        let _ = writeln!(text, "{separator}{HEADING}=== {} ==={HEADING:#}", terminal::plain(&heading));
        for Table { headings, rows } in network.topology.tables() {
            text.push('\n');
            text.push_str(&columns(headings, &rows));
        }
    }
    text
}

type Files<'a> = Vec<(PathBuf, Cow<'a, str>)>;

/// Returns the keyfiles of all hosts, with their paths.
fn keyfiles<'a>(directory: &Path, hosts: &[(&HostSpec, &'a ConvertedNetwork)]) -> Result<Files<'a>, Failure> {
    let labels = labels(directory, hosts)?;
    let files = hosts.iter().zip(labels).flat_map(|((_, network), label)| {
        let directory = if hosts.len() > 1 { directory.join(label) } else { directory.to_owned() };
        let file = move |keyfile: &'a Keyfile| (directory.join(keyfile.name.as_str()), Cow::from(&keyfile.content));
        network.keyfiles.iter().map(file)
    });
    Ok(files.collect())
}

/// Returns the pictures of all hosts, with their paths.
fn pictures<'a>(path: &Path, hosts: &[(&HostSpec, &'a ConvertedNetwork)]) -> Result<Files<'a>, Failure> {
    let labels = labels(path, hosts)?;
    let files = hosts.iter().zip(labels).map(|((host, network), label)| {
        let bmc = host.bmc.as_ref().map(|bmc| bmc.address.as_str());
        let picture = Picture { topology: &network.topology, bmc, boot_mac: host.boot_mac };
        let several = hosts.len() > 1 || path.is_dir();
        let path = if several { path.join(format!("{label}.svg")) } else { path.to_owned() };
        (path, Cow::from(picture.to_svg()))
    });
    Ok(files.collect())
}

/// Returns the names of the hosts' files or directories, which must differ.
fn labels(directory: &Path, hosts: &[(&HostSpec, &ConvertedNetwork)]) -> Result<Vec<String>, Failure> {
    let labels: Vec<String> = hosts.iter().map(|(host, network)| label(host, network)).collect();
    if labels.iter().collect::<BTreeSet<_>>().len() < labels.len() {
        let message = format!("two hosts would get the same name in {}; convert them one by one", directory.display());
        return Err(Failure::Input(message));
    }
    Ok(labels)
}
