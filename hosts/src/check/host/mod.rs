//! The network of one host by itself. One file per subject.

mod addresses;
mod bonds;
mod bridges;
mod connectivity;
mod default_routes;
mod dns;
mod gateways;
mod hostname;
mod links;
mod loops;
mod mtu;
mod routes;
mod rules;
mod stacks;
mod twins;
mod vlans;
mod vxlans;

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::CheckedHost;
use super::words::{self, Words};
use crate::model::{Interface, Kind, MAIN_TABLE, Method, Route, Topology};
use vocabulary::host::{HostSpec, NetworkDocument};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::{DocumentPath, Report, Severity};

/// Checks the network of one host by itself.
pub(super) fn check(checked: CheckedHost<'_>, files: NetworkFiles, report: &mut Report) {
    let network = Network { files, ..Network::of(checked) };
    for rules in [
        addresses::check,
        links::check,
        loops::check,
        vlans::check,
        vxlans::check,
        twins::check,
        bridges::check,
        stacks::check,
        mtu::check,
        routes::check,
        gateways::check,
        default_routes::check,
        dns::check,
        connectivity::check,
        hostname::check,
    ] {
        rules(&network, report);
    }
}

/// A host's network with the ways through it.
struct Network<'a> {
    host: &'a HostSpec,
    topology: &'a Topology,
    /// What the host gets. Most mistakes are mistakes whatever program reads it.
    files: NetworkFiles,
    by_name: BTreeMap<&'a str, &'a Interface>,
    ports: BTreeMap<&'a str, Vec<&'a Interface>>,
    children: BTreeMap<&'a str, Vec<&'a Interface>>,
}

impl<'a> Network<'a> {
    fn of(CheckedHost { host, topology }: CheckedHost<'a>) -> Self {
        let mut network = Self {
            host,
            topology,
            files: NetworkFiles::Keyfiles,
            by_name: BTreeMap::new(),
            ports: BTreeMap::new(),
            children: BTreeMap::new(),
        };
        for interface in &topology.interfaces {
            network.by_name.insert(&interface.name, interface);
            if let Some(controller) = &interface.controller {
                network.ports.entry(controller).or_default().push(interface);
            }
            if let Some(parent) = interface.kind.parent() {
                network.children.entry(parent).or_default().push(interface);
            }
        }
        network
    }

    fn interface(&self, name: &str) -> Option<&'a Interface> {
        self.by_name.get(name).copied()
    }

    fn ports(&self, name: &str) -> &[&'a Interface] {
        self.ports.get(name).map_or(&[], Vec::as_slice)
    }

    fn children(&self, name: &str) -> &[&'a Interface] {
        self.children.get(name).map_or(&[], Vec::as_slice)
    }

    /// The interfaces that come up by themselves.
    fn active(&self) -> impl Iterator<Item = &'a Interface> {
        self.topology.interfaces.iter().filter(|interface| interface.active)
    }

    /// The VRF that an interface is in, with its table.
    fn vrf_of(&self, interface: &Interface) -> Option<(&'a str, u32)> {
        let vrf = self.interface(interface.controller.as_deref()?)?;
        match vrf.kind {
            Kind::Vrf(table) => Some((&vrf.name, table)),
            _ => None,
        }
    }

    /// The table that a route is in: those of a VRF's port are in the VRF's, unless they name another. nmstate names one
    /// always.
    fn table_of(&self, route: &Route) -> u32 {
        let interface = route.interface.as_deref().and_then(|name| self.interface(name));
        match interface.and_then(|interface| self.vrf_of(interface)) {
            Some((_, table)) if route.table == MAIN_TABLE && !self.is_nmstate() => table,
            _ => route.table,
        }
    }

    /// Whether the host has addresses that are on no link, as hosts have that announce them by a routing protocol. Such
    /// hosts learn routes that are in no document.
    fn announces_addresses(&self) -> bool {
        self.active().any(|interface| {
            let mut addresses = interface.addresses().filter(|address| !address.is_of_loopback());
            let is_whole = |network: &IpNet| network.prefix_len() == network.max_prefix_len();
            match interface.kind {
                Kind::Loopback | Kind::Dummy => addresses.next().is_some(),
                _ => addresses.any(|address| is_whole(&address.network)),
            }
        })
    }

    /// The place of a member of an interface, by the keys that lead to it in NMState and in a keyfile.
    fn place(&self, interface: &Interface, nmstate: &[&str], keyfile: &[&str]) -> DocumentPath {
        words::place(self.host, interface, nmstate, keyfile)
    }

    /// The keys of the format in which the user wrote the network.
    fn words(&self) -> Words {
        Words::of(self.host)
    }

    /// How bad it is that the kernel refuses an interface. dayone takes a user's own profiles as they are.
    fn severity(&self) -> Severity {
        if self.is_nmstate() { Severity::Error } else { Severity::Warning }
    }

    /// Whether the keyfiles are made of NMState: what it writes down is then known.
    fn is_nmstate(&self) -> bool {
        matches!(self.host.network, NetworkDocument::Nmstate(_))
    }
}

/// Whether an interface has addresses by which others reach it, or gets some.
fn has_address(interface: &Interface) -> bool {
    if interface.kind == Kind::Loopback {
        return interface.addresses().any(|address| !address.is_of_loopback());
    }
    interface.families().iter().any(|ip| !matches!(ip.method, Method::Disabled | Method::LinkLocal))
}

#[cfg(test)]
mod tests;
