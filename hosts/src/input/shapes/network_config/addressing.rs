//! The addresses of one interface, and how it gets others.

use serde_yaml::Value;

use super::draft::Entry;
use crate::family::Family;
use crate::input::shapes::network_data::address::Placed;
use crate::members::mapping;
use vocabulary::report::DocumentPath;

/// What a document says of the addresses of one interface.
#[derive(Default)]
pub(super) struct Addressing {
    pub(super) addresses: Vec<Placed>,
    /// Where the document turns DHCP for IPv4 on.
    pub(super) dhcp4: Option<DocumentPath>,
    /// Where the document turns `DHCPv6` or router advertisements on.
    pub(super) automatic6: Option<DocumentPath>,
    /// Where the document turns router advertisements off.
    pub(super) without_routers: Option<DocumentPath>,
    /// Whether the interface has a link-local address even without other addresses of IPv6.
    pub(super) link_local6: bool,
    /// Further members of a family.
    pub(super) members: Vec<(Family, &'static str, Value, DocumentPath)>,
}

impl Addressing {
    /// Writes both families of the interface.
    pub(super) fn write(&self, entry: &mut Entry) {
        for family in Family::BOTH {
            let automatic = if family == Family::V4 { &self.dhcp4 } else { &self.automatic6 };
            let addresses = self.addresses.iter().filter(|placed| Family::of(placed.network.addr()) == family);
            let addresses: Vec<&Placed> = addresses.collect();
            let link_local = family == Family::V6 && self.link_local6;
            let Some(origin) = automatic.as_ref().or(addresses.first().map(|placed| &placed.path)) else {
                if link_local {
                    entry.set_unplaced(&[family.key(), "enabled"], true);
                    entry.set_unplaced(&[family.key(), "dhcp"], false);
                    entry.set_unplaced(&[family.key(), "autoconf"], false);
                    self.write_members(family, entry);
                }
                continue;
            };
            let key = family.key();
            entry.set(&[key, "enabled"], true, origin);
            entry.set(&[key, "dhcp"], automatic.is_some(), origin);
            if family == Family::V6 {
                let without_routers = self.without_routers.as_ref();
                let autoconf = automatic.is_some() && without_routers.is_none();
                entry.set(&[key, "autoconf"], autoconf, without_routers.unwrap_or(origin));
            }
            for placed in addresses {
                let (ip, length) = (placed.network.addr().to_string(), placed.network.prefix_len());
                let address = mapping([("ip", ip.into()), ("prefix-length", length.into())]);
                entry.push(&[key, "address"], address, &placed.path);
            }
            self.write_members(family, entry);
        }
    }

    fn write_members(&self, family: Family, entry: &mut Entry) {
        for (_, member, value, origin) in self.members.iter().filter(|(of, ..)| *of == family) {
            entry.set(&[family.key(), member], value.clone(), origin);
        }
    }
}
