//! A topology from NetworkManager's profiles (`nm-settings-keyfile(5)`, `nm-settings(5)`): from those that nmstate wrote,
//! and from users' own.
//!
//! Profiles are read as NetworkManager reads them, defaults included, and nothing is checked: what is no profile, and
//! what in one is not understood, is left out.

mod dns;
mod ip;
mod kind;
mod profile;
mod routes;
mod section;

use std::collections::BTreeMap;

use super::{BridgePort, Interface, InterfaceOptions, Kind, Port, Topology, WaitIp};
use crate::family::Family;
use dns::Resolver;
use profile::Profile;
use vocabulary::host::HostName;
use vocabulary::network_files::Keyfile;
use vocabulary::report::DocumentPath;

impl Topology {
    /// What these profiles make of a host, each with the place that it comes from.
    pub fn from_profiles<'a>(
        profiles: impl IntoIterator<Item = (DocumentPath, &'a str)>,
        hostname: Option<&HostName>,
    ) -> Self {
        let mut profiles: Vec<Profile<'a>> =
            profiles.into_iter().filter_map(|(path, content)| Profile::read(path, content)).collect();
        // Of several for one device, this is the order in which NetworkManager prefers them.
        profiles.sort_by_key(|profile| std::cmp::Reverse((profile.active, profile.priority)));
        let names = Names::of(&profiles);
        let mut topology = Self { hostname: hostname.cloned(), ..Self::default() };
        let mut interfaces = BTreeMap::new();
        let mut resolver = Resolver::default();
        for profile in &profiles {
            if interfaces.contains_key(&profile.name) {
                continue;
            }
            let interface = interface(profile, &names);
            routes::read(profile, &interface.kind, &mut topology);
            resolver.read(profile, &interface);
            interfaces.insert(profile.name.clone(), interface);
        }
        join(&mut interfaces);
        topology.interfaces = interfaces.into_values().filter(|interface| !is_bare_loopback(interface)).collect();
        topology.routes.sort_by(|a, b| a.interface.cmp(&b.interface));
        topology.rules.sort_by_key(|rule| rule.priority);
        topology.dns = resolver.into_dns();
        topology
    }

    /// What these keyfiles make of a host. Places are told by the files' names.
    pub fn from_keyfiles(keyfiles: &[Keyfile], hostname: Option<&HostName>) -> Self {
        let profiles = keyfiles.iter();
        Self::from_profiles(
            profiles.map(|file| (DocumentPath::document(file.name.as_str()), file.content.as_str())),
            hostname,
        )
    }
}

/// What profiles call each other.
struct Names {
    by_uuid: BTreeMap<String, String>,
}

impl Names {
    fn of(profiles: &[Profile<'_>]) -> Self {
        let uuids = profiles.iter().rev().filter_map(|profile| Some((profile.uuid.clone()?, profile.name.clone())));
        Self { by_uuid: uuids.collect() }
    }

    /// The name of the interface that a profile refers to, by an interface's name or by a profile's UUID.
    fn resolve(&self, reference: &str) -> String {
        self.by_uuid.get(&reference.to_ascii_lowercase()).cloned().unwrap_or_else(|| reference.to_owned())
    }
}

/// Gives every controller its ports, by their names.
fn join(interfaces: &mut BTreeMap<String, Interface>) {
    let ports = interfaces.values().filter_map(|port| {
        let path = port.path.key("connection").key("controller");
        Some((port.controller.clone()?, Port { name: port.name.clone(), path }))
    });
    for (controller, port) in ports.collect::<Vec<_>>() {
        if let Some(controller) = interfaces.get_mut(&controller) {
            controller.ports.push(port);
        }
    }
}

fn interface(profile: &Profile<'_>, names: &Names) -> Interface {
    let kind = kind::read(profile, names);
    let has_ip = profile.has_ip(&kind);
    let hardware = profile.hardware();
    let port = profile.section("bridge-port");
    Interface {
        name: profile.name.clone(),
        label: profile.name.clone(),
        path: profile.path.clone(),
        device: profile.device(),
        active: profile.active,
        mac: hardware.parsed("cloned-mac-address").or_else(|| profile.section("bridge").parsed("mac-address")),
        mtu: hardware.parsed("mtu").filter(|mtu| *mtu != 0),
        options: InterfaceOptions {
            description: profile.section("user").text("nmstate.interface.description"),
            promiscuous: hardware.flag("accept-all-mac-addresses"),
            lldp: profile.section("connection").flag("lldp"),
            wait_ip: wait_ip(profile).filter(|_| has_ip),
            bridge_port: BridgePort {
                path_cost: port.parsed("path-cost"),
                priority: port.parsed("priority"),
                hairpin: port.flag("hairpin-mode"),
                vlans: kind::bridge_vlans(&port),
            },
            authenticates: profile.has_section("802-1x"),
        },
        controller: profile.controller.as_deref().map(|controller| names.resolve(controller)),
        ports: Vec::new(),
        ipv4: ip::read(&profile.section("ipv4"), Family::V4, &kind, has_ip),
        ipv6: ip::read(&profile.section("ipv6"), Family::V6, &kind, has_ip),
        kind,
    }
}

/// Which addresses NetworkManager waits for before it says that the interface is up.
fn wait_ip(profile: &Profile<'_>) -> Option<WaitIp> {
    match ["ipv4", "ipv6"].map(|family| profile.section(family).flag("may-fail")) {
        [None, None] => None,
        [Some(false), Some(false)] => Some(WaitIp::Both),
        [Some(false), _] => Some(WaitIp::V4),
        [_, Some(false)] => Some(WaitIp::V6),
        _ => Some(WaitIp::Any),
    }
}

/// Whether this is the loopback as every host has it: its profile is there for what it holds besides.
fn is_bare_loopback(interface: &Interface) -> bool {
    interface.kind == Kind::Loopback && interface.ipv4.addresses.is_empty() && interface.ipv6.addresses.is_empty()
}

#[cfg(test)]
mod tests;
