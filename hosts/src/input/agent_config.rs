//! `agent-config.yaml` of `OpenShift`'s agent-based installer (`kind: AgentConfig`).
//!
//! Source: openshift/installer, `pkg/types/agent/agent_config_type.go`; what it refuses is in
//! `pkg/asset/agent/agentconfig/agenthosts.go`. What it holds for the installed system alone (NTP sources, …) is not
//! looked at.

use super::bmc;
use super::cluster::{self, address};
use super::document::Document;
use super::flaw::Reported;
use super::install_config::{network, without_network};
use super::nics::nics;
use super::object::{Fields, check_version};
use super::part::{HostPart, Members};
use vocabulary::host::{Cluster, HostBmc, HostName};
use vocabulary::report::{DocumentPath, Report};

pub(super) const KIND: &str = "AgentConfig";
pub(super) const API_VERSIONS: [&str; 2] = ["v1beta1", "v1alpha1"];

/// Reads an agent-config: its hosts, and what it says of the cluster.
pub(super) fn read(document: &Document, report: &mut Report) -> Result<(Vec<HostPart>, Cluster), Reported> {
    let top = top(document, report)?;
    let name = match top.mapping("metadata", report)? {
        Some(metadata) => metadata.text("name", report)?.map(str::to_owned),
        None => None,
    };
    let rendezvous_ip = match top.text("rendezvousIP", report)? {
        Some(text) => {
            let path = top.path.key("rendezvousIP");
            Some((address(text, &path, report)?, path))
        }
        None => None,
    };
    let hosts = top.mappings("hosts", report)?;
    let hosts = hosts.iter().map(|fields| host(fields, report)).collect();
    Ok((hosts, Cluster { name, rendezvous_ip, ..cluster::unknown(top.path) }))
}

/// The BMCs of its hosts. Nothing else is looked at.
pub(super) fn bmcs(document: &Document, report: &mut Report) -> Result<Vec<(HostBmc, DocumentPath)>, Reported> {
    let hosts = top(document, report)?.mappings("hosts", report)?;
    Ok(hosts.iter().filter_map(|fields| bmc::inline_of_host(fields, "hostname", report)).collect())
}

/// The document, which may have a name and may do without.
fn top<'a>(document: &'a Document, report: &mut Report) -> Result<Fields<'a>, Reported> {
    let top = Fields::new(&document.value, document.position.clone());
    check_version(&top, KIND, &API_VERSIONS, report)?;
    let metadata = top.mapping("metadata", report)?;
    let name = metadata.map_or(Ok(None), |metadata| metadata.text("name", report))?;
    let plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    Ok(match name.filter(plain) {
        Some(name) => {
            let path = DocumentPath::document(&format!("{KIND}/{name}"));
            report.name_place(&path, &top.path);
            Fields::new(top.mapping, path)
        }
        None => top,
    })
}

fn host(fields: &Fields<'_>, report: &mut Report) -> HostPart {
    let mut members = Members::default();
    let hostname = members.take(fields.parsed::<HostName>("hostname", report));
    let role = members.take(fields.text("role", report));
    let bmc = members.take(bmc::inline(fields, report));
    let root_device_hints = members.take(fields.whole_mapping("rootDeviceHints", report));
    let nics = members.take(nics(fields, report));
    let network = network(fields, report);
    let without_network = network.is_ok().then(|| without_network(fields));
    let at = |key| fields.path.key(key);
    HostPart {
        name: hostname.as_ref().map(|name| (name.to_string(), at("hostname"))),
        hostname,
        role: role.map(|role| (role.to_owned(), at("role"))),
        bmc: bmc.map(|bmc| (bmc, at("bmc"))),
        root_device_hints: root_device_hints.map(|hints| (hints.mapping.clone(), hints.path)),
        nics,
        network: members.take(network).map(Into::into),
        without_network,
        is_flawed: members.any_wrong(),
        ..HostPart::new(KIND, fields.path.clone())
    }
}
