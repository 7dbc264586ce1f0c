//! The device of a command: its name, what it is, and what it stands on.

use super::{Contradiction, list, values};
use crate::answers::kickstart::command::Command;
use crate::model::{BOND_MODES, Device, Interface, Kind, Topology, Vlan};
use vocabulary::host::MacAddress;

/// Returns the interfaces that a command may be about.
pub(super) fn candidates<'t>(command: &Command, topology: &'t Topology) -> Result<Vec<&'t Interface>, Contradiction> {
    if let Some(option) = command.first_of(&["--teamslaves", "--teamconfig"]) {
        return Err(Contradiction::of_option(option, "no team"));
    }
    let named = command.value("--device").filter(|device| !matches!(*device, "link" | "bootif" | "ibft"));
    let is_made = command.first_of(&["--bondslaves", "--bridgeslaves"]).is_some();
    let parents = named.map(|device| of_device(device, is_made, topology));
    if let Some(id) = command.value("--vlanid") {
        let is_parent = |vlan: &Vlan| {
            parents.as_ref().is_none_or(|parents| parents.iter().any(|parent| parent.name == vlan.parent))
        };
        let of_id = |vlan: &Vlan| Some(vlan.id) == id.parse().ok();
        let vlans = topology.interfaces.iter().filter_map(|interface| Some((interface, vlan_of(interface)?)));
        let found: Vec<_> =
            vlans.clone().filter(|(_, vlan)| of_id(vlan) && is_parent(vlan)).map(|(vlan, _)| vlan).collect();
        let all = vlans.map(|(interface, _)| &interface.name);
        return if found.is_empty() {
            Err(Contradiction::new("--vlanid", id, format!("the VLANs {}", list(all, "(none)"))))
        } else {
            Ok(found)
        };
    }
    if command.stays_off() && !is_made && named.is_some_and(|device| is_down(device, topology)) {
        return Ok(Vec::new());
    }
    match (named, parents) {
        (Some(device), Some(found)) if found.is_empty() => {
            let all = topology.interfaces.iter().map(|interface| &interface.name);
            Err(Contradiction::new("--device", device, format!("the interfaces {}", list(all, "(none)"))))
        }
        (_, Some(found)) => Ok(found),
        (_, None) => Ok(topology.interfaces.iter().filter(|interface| stands_alone(interface, topology)).collect()),
    }
}

/// Whether the documents keep the NIC with this name or MAC address down: they say `state: down`, or do not describe the NIC.
fn is_down(device: &str, topology: &Topology) -> bool {
    let mac = device.parse::<MacAddress>().ok();
    let is_it = |own: &Interface| {
        let own_mac = if let Device::Mac(mac) = own.device { Some(mac) } else { own.mac };
        own.name == device || own.label == device || (mac.is_some() && mac == own_mac)
    };
    !topology.interfaces.iter().any(|own| is_it(own) && own.active)
}

/// Whether an interface can have the addresses of a command that names no device.
fn stands_alone(interface: &Interface, topology: &Topology) -> bool {
    let is_port = interface.controller.is_some() && topology.vrf_of(interface).is_none();
    interface.active && !is_port && interface.kind != Kind::Loopback
}

/// The interfaces that a device may be. A command names it by the kernel's name or by its MAC address. If the profile of a NIC
/// identifies it in the other of these ways, dayone cannot compare them, and the NIC may be the device, unless the command makes the
/// device itself (a bond or a bridge).
fn of_device<'t>(device: &str, is_made: bool, topology: &'t Topology) -> Vec<&'t Interface> {
    let is_nic = |interface: &Interface| interface.kind == Kind::Ethernet;
    let all = || topology.interfaces.iter();
    let (known, unknown): (Vec<_>, Vec<_>) = match device.parse::<MacAddress>() {
        Ok(mac) => (
            all().filter(|interface| interface.device == Device::Mac(mac)).collect(),
            all().filter(|nic| is_nic(nic) && !matches!(nic.device, Device::Mac(_))).collect(),
        ),
        Err(_) => (
            all().filter(|own| own.name == device && (own.device == Device::Name || !is_nic(own))).collect(),
            all().filter(|nic| is_nic(nic) && nic.device != Device::Name).collect(),
        ),
    };
    if known.is_empty() && !is_made { unknown } else { known }
}

/// Returns what a command and the documents do not agree on about an interface and those that it stands on.
pub(super) fn contradictions(command: &Command, interface: &Interface, topology: &Topology) -> Vec<Contradiction> {
    let mut found = Vec::new();
    // A command for a VLAN can also have the bond below it.
    let below = vlan_of(interface).and_then(|vlan| topology.interface(&vlan.parent)).unwrap_or(interface);
    for (option, is_kind) in [
        ("--bondslaves", matches!(below.kind, Kind::Bond(_))),
        ("--bridgeslaves", matches!(below.kind, Kind::LinuxBridge(_))),
    ] {
        let Some(given) = command.value(option) else { continue };
        let ports: Vec<_> = topology.ports(&below.name).collect();
        // Of other NICs, only the MAC addresses are known.
        let are_named = ports.iter().all(|port| port.kind != Kind::Ethernet || port.device == Device::Name);
        let same_ports = !are_named || ports.iter().all(|port| values(given).any(|name| name == port.name));
        if !is_kind || !same_ports || values(given).count() != ports.len() {
            let wanted = list(ports.iter().map(|port| &port.name), "none");
            found.push(Contradiction::new(option, given, format!("the ports {wanted}")).at(below));
        }
    }
    if let (Kind::Bond(bond), Some(given)) = (&below.kind, command.value("--bondopts"))
        && let Some(mode) = mode(given)
        && mode != bond.mode
    {
        found.push(Contradiction::new("--bondopts", given, format!("the mode {:?}", bond.mode)).at(below));
    }
    if let Some(given) = command.value("--interfacename").filter(|given| *given != interface.name) {
        found.push(Contradiction::new("--interfacename", given, "this name"));
    }
    // The MTU 0 leaves the choice to NetworkManager, like no MTU.
    let own_mtus = [Some(interface.mtu.unwrap_or_default()), topology.mtu(interface)];
    let is_own_mtu = |given: &str| given.parse::<u32>().is_ok_and(|given| own_mtus.contains(&Some(given)));
    if let Some(given) = command.value("--mtu").filter(|given| !is_own_mtu(given)) {
        let wanted = interface.mtu.map_or_else(|| "none".to_owned(), |mtu| mtu.to_string());
        found.push(Contradiction::new("--mtu", given, format!("the MTU {wanted}")));
    }
    if command.is_off_at_boot() && interface.active {
        found.push(Contradiction::new("--onboot", command.get("--onboot").unwrap_or_default(), "the state up"));
    }
    found
}

/// The mode among the options of a bond. They are separated by semicolons if one of them has a comma.
fn mode(options: &str) -> Option<&str> {
    let separator = if options.contains(';') { ';' } else { ',' };
    let mode = options.split(separator).find_map(|option| option.trim().strip_prefix("mode="))?;
    let numbered = mode.parse::<usize>().ok().and_then(|number| BOND_MODES.get(number));
    Some(numbered.copied().unwrap_or(mode))
}

fn vlan_of(interface: &Interface) -> Option<&Vlan> {
    match &interface.kind {
        Kind::Vlan(vlan) => Some(vlan),
        _ => None,
    }
}

impl Contradiction {
    fn at(mut self, interface: &Interface) -> Self {
        self.interface = Some(interface.name.clone());
        self
    }
}
