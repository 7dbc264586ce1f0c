//! From NMState to what cloud-init reads: `OpenStack`'s `network_data.json`, and version 2 of `network-config`, which is
//! netplan's. For data images, where neither keyfiles nor units are read.
//!
//! Both say less than NMState. What the chosen one cannot say is refused, with its place in the document: `supported` lists
//! the keys that both can say, and what a writer finds no words for it refuses at its place in the model. The checks of
//! [`super::convert`] come first, nmstate's own engine among them.

mod netplan;
mod network;
mod object;
mod openstack;
mod supported;

#[cfg(test)]
mod tests;

use self::network::Network;
use self::supported::{NETPLAN, OPENSTACK};
use super::form::{Findings, Form};
use super::{Attempt, Checked};
use crate::model::Topology;
use vocabulary::host::{HostName, HostSpec};
use vocabulary::report::{DocumentPath, Report};

/// A host's network as cloud-init reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudNetwork {
    /// The file's content.
    pub content: String,
    /// The host name, as in [`super::HostNetwork`]: it stands in another file.
    pub hostname: Option<HostName>,
}

/// Converts a host's NMState document to `network-config`, version 2. There is one exactly when the report has no errors.
pub fn network_config(host: &HostSpec) -> (Option<CloudNetwork>, Report) {
    let (network, report) = attempt_network_config(host);
    (network.ok().map(|(network, _)| network), report)
}

/// Converts a host's NMState document to `network_data.json`. There is one exactly when the report has no errors.
///
/// Its readers give bonds and VLANs names of their own, and find every NIC by its MAC address.
pub fn network_data(host: &HostSpec) -> (Option<CloudNetwork>, Report) {
    let (network, report) = attempt_network_data(host);
    (network.ok().map(|(network, _)| network), report)
}

/// [`network_config`], with the topology.
pub(super) fn attempt_network_config(host: &HostSpec) -> (Attempt<(CloudNetwork, Topology)>, Report) {
    attempt(host, &NETPLAN, netplan::write)
}

/// [`network_data`], with the topology.
pub(super) fn attempt_network_data(host: &HostSpec) -> (Attempt<(CloudNetwork, Topology)>, Report) {
    attempt(host, &OPENSTACK, openstack::write)
}

fn attempt(
    host: &HostSpec,
    form: &'static Form,
    write: fn(&Network<'_>, &mut Findings<'_>) -> String,
) -> (Attempt<(CloudNetwork, Topology)>, Report) {
    super::from_nmstate(host, form.name, |checked, path, report| convert_into(checked, path, form, write, report))
}

fn convert_into(
    checked: &Checked<'_>,
    path: &DocumentPath,
    form: &'static Form,
    write: fn(&Network<'_>, &mut Findings<'_>) -> String,
    report: &mut Report,
) -> Option<CloudNetwork> {
    let interfaces = checked.interfaces(path);
    let topology = checked.topology(&interfaces, path);
    let mut findings = Findings::new(report, form);
    findings.refuse_unsupported(&checked.document, path);
    findings.refuse_two_macs(&interfaces, &topology);
    let network = Network::of(&topology, path, &mut findings);
    if report.has_errors() {
        return None;
    }
    let content = write(&network, &mut Findings::new(report, form));
    Some(CloudNetwork { content, hostname: topology.hostname.clone() })
}
