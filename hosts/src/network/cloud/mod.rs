//! Converts NMState to what cloud-init reads: `OpenStack`'s `network_data.json`, and version 2 of `network-config`, which is
//! netplan's. For data images, whose readers read neither keyfiles nor units.
//!
//! Both formats can express less than NMState. dayone refuses what the chosen one cannot express, at its place in the
//! document: `supported` lists the keys that both can express, and the writers refuse the values that they cannot. The
//! checks of [`super::convert`] come first, the nmstate crate among them.

mod duid;
mod elsewhere;
mod macs;
mod netplan;
mod openstack;
mod supported;

#[cfg(test)]
mod tests;

use self::netplan::Reader;
use self::supported::{NETPLAN, NETPLAN_ALONE, OPENSTACK};
use super::devices::Network;
use super::form::{Findings, Form};
use super::{Attempt, ConvertedNetwork};
use vocabulary::host::HostSpec;
use vocabulary::report::Report;

/// Converts a host's NMState document to `network-config`, version 2, which cloud-init may have to translate for other programs.
pub(super) fn network_config(host: &HostSpec) -> (Attempt<ConvertedNetwork>, Report) {
    attempt(host, &NETPLAN, |network, findings| netplan::write(network, Reader::CloudInit, findings))
}

/// Converts a host's NMState document to the same format, for a system that has netplan.
pub(super) fn netplan(host: &HostSpec) -> (Attempt<ConvertedNetwork>, Report) {
    attempt(host, &NETPLAN_ALONE, |network, findings| netplan::write(network, Reader::Netplan, findings))
}

/// Converts a host's NMState document to `network_data.json`.
///
/// Its readers give bonds and VLANs names of their own, and find every NIC by its MAC address.
pub(super) fn network_data(host: &HostSpec) -> (Attempt<ConvertedNetwork>, Report) {
    attempt(host, &OPENSTACK, openstack::write)
}

fn attempt(
    host: &HostSpec,
    form: &'static Form,
    write: fn(&Network<'_>, &mut Findings<'_>) -> String,
) -> (Attempt<ConvertedNetwork>, Report) {
    super::from_nmstate(host, form, |topology, path, converted, findings| {
        let network = Network::of(topology, path, findings);
        if !findings.has_errors() {
            converted.network_data = Some(write(&network, findings));
        }
    })
}
