//! `agent-config.yaml` of `OpenShift`'s agent-based installer (`kind: AgentConfig`, which may be missing).
//!
//! Source: openshift/installer, `pkg/types/agent/agent_config_type.go`; `pkg/asset/agent/agentconfig/agenthosts.go` says what
//! the installer refuses. dayone ignores what is only for the installed system, such as NTP sources.

use super::cluster::{self, address};
use super::host_reader::{HostReader, Reading, Scope};
use super::nics::nics;
use super::{Found, bmc};
use crate::input::document::{Document, check_version};
use crate::input::fields::Fields;
use crate::input::host_part::{HostPart, MissingNetwork};
use vocabulary::host::Cluster;
use vocabulary::report::{DocumentPath, Report, Reported};

pub(in crate::input) const KIND: &str = "AgentConfig";
pub(super) const API_VERSIONS: [&str; 2] = ["v1beta1", "v1alpha1"];

/// Reads the hosts, and the facts about their cluster.
pub(super) fn read(document: &Document, reading: &mut Reading<'_>) -> Result<Found, Reported> {
    let top = top(document, reading.report)?;
    let cluster = if reading.scope == Scope::Hosts { Some((KIND, cluster(&top, reading.report)?)) } else { None };
    let hosts = top.mappings("hosts", reading.report)?;
    let parts = hosts.iter().map(|fields| host(fields, reading)).collect();
    Ok(Found { parts, clusters: cluster.into_iter().collect(), ..Found::default() })
}

/// Returns the document under its name, which it need not have.
fn top<'a>(document: &'a Document, report: &mut Report) -> Result<Fields<'a>, Reported> {
    let mut top = document.fields();
    check_version(&top, KIND, &API_VERSIONS, report)?;
    let plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if let Some(name) = top.text_in("metadata", "name", report)?.filter(plain) {
        let path = DocumentPath::document(&format!("{KIND}/{name}"));
        report.name_document(&path, &top.path);
        top.path = path;
    }
    Ok(top)
}

fn cluster(top: &Fields<'_>, report: &mut Report) -> Result<Cluster, Reported> {
    let name = top.text_in("metadata", "name", report)?.map(str::to_owned);
    let rendezvous_ip = match top.placed("rendezvousIP", top.text("rendezvousIP", report)?) {
        Some((text, path)) => Some((address(text, &path, report)?, path)),
        None => None,
    };
    Ok(Cluster { name, rendezvous_ip, ..cluster::unknown(top.path.clone()) })
}

fn host(fields: &Fields<'_>, reading: &mut Reading<'_>) -> HostPart {
    let mut host = HostReader::new(KIND, fields, reading);
    host.name("hostname");
    host.host_name_is_name();
    host.part.role = host.role();
    host.part.bmc = host.take(bmc::with_credentials);
    host.part.root_device_hints = host.root_device_hints();
    host.part.nics = host.take_other(|fields, reading| nics(fields, reading.report));
    host.network(MissingNetwork::at(fields.path.key("networkConfig")), |fields, reading| {
        fields.nmstate("networkConfig", reading.report)
    });
    host.part
}
