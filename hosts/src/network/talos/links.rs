//! Links: NICs, bonds, VLANs and bridges.

use serde_json::{Value, json};

use super::bond;
use super::supported::warn_of_releases;
use crate::model::{Device as FoundBy, Interface, Kind, Vlan};
use crate::network::devices::{Device, Network};
use crate::network::form::Findings;
use crate::network::object::Object;

/// The spec of a link. That it has one keeps Talos from asking DHCP there.
pub(super) fn link(device: &Device<'_>, network: &Network<'_>, findings: &mut Findings<'_>) -> Object {
    // Its addresses are specs of their own. The list of keys that can be expressed allows only the defaults of the others.
    let Interface {
        name,
        label,
        path,
        device: found_by,
        kind,
        active: _,
        mac,
        mtu,
        options: _,
        controller: _,
        ports: _,
        ipv4: _,
        ipv6: _,
    } = device.interface.as_ref();
    let mut link = Object::default();
    link.set("name", label.as_str());
    link.set("up", true);
    match kind {
        Kind::Bond(bond) => {
            set_logical(&mut link, "bond");
            link.set("bondMaster", Value::from(bond::master(bond, path, findings)));
        }
        Kind::Vlan(Vlan { parent, id, options }) => {
            set_logical(&mut link, "vlan");
            link.set("parentName", network.label(parent));
            let protocol = options.protocol.as_deref().unwrap_or("802.1q");
            link.set("vlan", json!({"vlanID": id, "vlanProtocol": protocol}));
        }
        Kind::LinuxBridge(bridge) => {
            set_logical(&mut link, "bridge");
            link.set("bridgeMaster", json!({"stp": {"enabled": bridge.stp}}));
        }
        _ if matches!(found_by, FoundBy::Mac(_)) => {
            let reason = "Talos finds a NIC only by its kernel name; use that name, and remove identifier: mac-address";
            findings.refuse(path, reason);
        }
        _ => {}
    }
    if let Some((controller, index)) = controller_of(name, network) {
        let master = controller.interface.label.as_str();
        if matches!(controller.interface.kind, Kind::LinuxBridge(_)) {
            link.set("bridgeSlave", json!({"masterName": master}));
        } else {
            link.set("masterName", master);
            link.set("slaveIndex", index);
        }
    }
    link.set_some("mtu", *mtu);
    if let Some(mac) = mac {
        link.set("hardwareAddr", mac.to_string());
        warn_of_releases(&path.key("mac-address"), findings);
    }
    link
}

/// A link that Talos makes.
fn set_logical(link: &mut Object, kind: &str) {
    link.set("logical", true);
    link.set("kind", kind);
    link.set("type", "ether");
}

/// The bond or the bridge that an interface is a port of, and its place among the ports.
pub(super) fn controller_of<'n, 'a>(name: &str, network: &'n Network<'a>) -> Option<(&'n Device<'a>, usize)> {
    network.devices.iter().find_map(|device| {
        let index = device.interface.ports.iter().position(|port| port.name == name)?;
        Some((device, index))
    })
}
