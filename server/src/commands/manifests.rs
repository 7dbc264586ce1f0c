//! `dayone manifests`: writes hosts as Kubernetes objects.

use std::path::PathBuf;

use hosts::manifests::{ManifestOptions, manifests};
use vocabulary::host::{HostName, HostSpec};

use super::failure::Failure;
use super::{documents, findings, output_files, terminal};
use crate::arguments::ManifestsArguments;

pub(super) fn run(arguments: &ManifestsArguments) -> Result<(), Failure> {
    let mut converted = documents::convert(&arguments.files, None)?;
    for name in &arguments.host_names {
        if !converted.hosts.iter().any(|(host, _)| is_called(host, name)) {
            let names: Vec<&str> = converted.hosts.iter().filter_map(|(host, _)| host.name.as_deref()).collect();
            let message =
                format!("no host in the documents has the name {name:?}; the names are: {}", names.join(", "));
            return Err(Failure::Input(message));
        }
    }
    if !arguments.host_names.is_empty() {
        converted.hosts.retain(|(host, _)| arguments.host_names.iter().any(|name| is_called(host, name)));
    }
    let options = ManifestOptions {
        namespace: arguments.namespace.clone(),
        bmc_secrets: !arguments.without_bmc_secret,
        online: !arguments.offline,
        install_coreos: arguments.install_coreos,
    };
    let hosts = converted.hosts.iter().map(|(host, _)| host);
    let (manifests, findings_of_manifests) = manifests(hosts, &options);
    let mut report = converted.report;
    report.append(findings_of_manifests);
    terminal::remark(&findings::as_text(&report));
    if report.has_errors() {
        return Err(Failure::Findings);
    }
    let Some(directory) = &arguments.output else {
        return terminal::print(&manifests.iter().map(|host| host.yaml.as_str()).collect::<Vec<_>>().join("---\n"));
    };
    let files: Vec<(PathBuf, &str)> =
        manifests.iter().map(|host| (directory.join(format!("{}.yaml", host.host)), host.yaml.as_str())).collect();
    output_files::write_and_list(&files, arguments.force)
}

fn is_called(host: &HostSpec, name: &str) -> bool {
    host.name.as_deref().or(host.hostname.as_ref().map(HostName::as_str)) == Some(name)
}
