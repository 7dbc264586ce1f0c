//! `dayone convert`: NMState in, keyfiles out.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use imagelib::host::{HostName, HostSpec};
use imagelib::network::{HostNetwork, Keyfile, NMSTATE_VERSION};
use imagelib::report::Report;
use serde::Serialize;

use super::failure::Failure;
use super::terminal::HEADING;
use super::{documents, findings, terminal};
use crate::arguments::{ConvertArguments, OutputFormat};

#[derive(Serialize)]
struct Converted<'a> {
    /// The hosts without errors.
    hosts: Vec<ConvertedHost<'a>>,
    findings: &'a Report,
    /// The release of nmstate that converted.
    nmstate_version: &'static str,
}

#[derive(Serialize)]
struct ConvertedHost<'a> {
    /// What the documents call it.
    name: Option<&'a str>,
    /// The host name that it will have.
    hostname: Option<&'a HostName>,
    keyfiles: &'a [Keyfile],
}

pub(super) fn run(arguments: &ConvertArguments) -> Result<(), Failure> {
    let converted = documents::read(&arguments.files)?;
    let report = &converted.report;
    let hosts: Vec<(&HostSpec, &HostNetwork)> =
        converted.hosts.iter().filter_map(|(host, network)| Some((host, network.as_ref()?))).collect();
    if let (Some(directory), false) = (&arguments.output, report.has_errors()) {
        write_all(directory, &hosts, arguments.force)?;
    }
    match arguments.format {
        OutputFormat::Json => {
            let hosts = hosts.iter().map(|(host, network)| ConvertedHost {
                name: host.name.as_deref(),
                hostname: network.hostname.as_ref(),
                keyfiles: &network.keyfiles,
            });
            let hosts = hosts.collect();
            terminal::print_json(&Converted { hosts, findings: report, nmstate_version: NMSTATE_VERSION })?;
        }
        OutputFormat::Text => {
            terminal::remark(&findings::as_text(report));
            if arguments.output.is_none() {
                terminal::print(&as_text(&hosts))?;
            }
        }
    }
    if report.has_errors() { Err(Failure::Findings) } else { Ok(()) }
}

/// The keyfiles one after the other, each below its name. The headings are comments to NetworkManager.
fn as_text(hosts: &[(&HostSpec, &HostNetwork)]) -> String {
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

/// What a host's directory is called: a DNS name, so it is no path.
fn label(host: &HostSpec, network: &HostNetwork) -> String {
    let hostname = network.hostname.as_ref().map(ToString::to_string);
    host.name.clone().or(hostname).unwrap_or_else(|| "unnamed".to_owned())
}

/// Writes every host's keyfiles, or nothing if any file is in the way.
fn write_all(directory: &Path, hosts: &[(&HostSpec, &HostNetwork)], force: bool) -> Result<(), Failure> {
    let mut labels = BTreeSet::new();
    let mut files = Vec::new();
    for (host, network) in hosts {
        let label = label(host, network);
        let directory = if hosts.len() > 1 { directory.join(&label) } else { directory.to_owned() };
        if !labels.insert(label) {
            let message = format!("two hosts would be written to {}; convert them one by one", directory.display());
            return Err(Failure::Input(message));
        }
        files.extend(network.keyfiles.iter().map(|keyfile| (directory.join(keyfile.name.as_str()), &keyfile.content)));
    }
    let mut missing = Vec::new();
    for (path, content) in files {
        match fs::read(&path) {
            Ok(there) if there == content.as_bytes() => {}
            Ok(_) if !force => {
                let message = format!("{} is there with another content; --force replaces it", path.display());
                return Err(Failure::System(message));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::system(&format!("cannot read {}", path.display()), &error));
            }
            _ => missing.push((path, content)),
        }
    }
    for (path, content) in missing {
        write(&path, content).map_err(|error| Failure::system(&format!("cannot write {}", path.display()), &error))?;
    }
    Ok(())
}

/// Whole or not at all, and for the owner's eyes only from the first byte on.
fn write(path: &Path, content: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // Temporary files have mode 0600.
    let mut file = tempfile::Builder::new().prefix(".dayone-").tempfile_in(directory)?;
    file.write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
