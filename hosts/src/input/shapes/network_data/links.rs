//! `links`: NICs, bonds and VLANs, which refer to each other by `id`.

use std::collections::BTreeMap;

use serde_yaml::Value;

use super::bond::{self, Bond};
use super::members;
use crate::input::fields::Fields;
use crate::input::listing::{listed, quoted};
use vocabulary::host::MacAddress;
use vocabulary::report::{DocumentPath, Report, Reported};

/// All these types mean a NIC with this MAC address. The type is how a hypervisor attaches it. Only cloud-init knows the last
/// three.
const NIC_TYPES: [&str; 12] =
    ["phy", "vif", "ovs", "tap", "bridge", "dvs", "hw_veb", "hyperv", "vhostuser", "ethernet", "bgpovs", "cascading"];

/// A link.
#[derive(Debug)]
pub(super) struct Link<'a> {
    pub(super) path: DocumentPath,
    pub(super) id: &'a str,
    /// The name of the interface.
    pub(super) name: Option<&'a str>,
    /// The NIC's own address, or the address that another link shall get, with its path.
    pub(super) mac: Option<(MacAddress, DocumentPath)>,
    pub(super) mtu: Option<u64>,
    pub(super) kind: Kind<'a>,
}

/// The kind of a link.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    Nic,
    Bond(Bond<'a>),
    Vlan { lower: &'a str, id: u64 },
}

/// All links, in their order. If they were read without an error, all references between them are valid and have no cycle.
#[derive(Debug)]
pub(super) struct Links<'a> {
    all: Vec<Link<'a>>,
    by_id: BTreeMap<&'a str, usize>,
    /// The ids of bonds by the ids of their ports.
    bonds: BTreeMap<&'a str, &'a str>,
}

impl<'a> Links<'a> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Link<'a>> {
        self.all.iter()
    }

    pub(super) fn position(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Link<'a>> {
        self.all.get(self.position(id)?)
    }

    /// Returns the bond that has this link as a port.
    pub(super) fn bond_of(&self, id: &str) -> Option<&'a str> {
        self.bonds.get(id).copied()
    }

    /// Lists the ids for a sentence.
    pub(super) fn ids(&self) -> String {
        listed(self.all.iter().map(|link| link.id))
    }

    /// Returns the address that a link has by default: a bond has that of its first port, a VLAN that of its lower link.
    pub(super) fn natural_mac(&self, link: &Link<'_>) -> Option<MacAddress> {
        let mut link = link;
        loop {
            link = match &link.kind {
                Kind::Nic => return None,
                Kind::Bond(bond) => self.get(bond.ports.first()?.0)?,
                Kind::Vlan { lower, .. } => self.get(lower)?,
            };
            if let Some((mac, _)) = &link.mac {
                return Some(*mac);
            }
        }
    }
}

/// Reads `links`.
pub(super) fn read<'a>(top: &Fields<'a>, report: &mut Report) -> Links<'a> {
    let mut links = Links { all: Vec::new(), by_id: BTreeMap::new(), bonds: BTreeMap::new() };
    let mut all_read = true;
    for fields in members::mappings(top, "links", report) {
        let Ok(link) = read_one(&fields, report) else {
            all_read = false;
            continue;
        };
        if let Some(first) = links.get(link.id) {
            let message = format!(
                "is {:?}, like the id of {}; networks and links refer to a link by its id",
                link.id, first.path
            );
            report.error("link-duplicate", &fields.path.key("id"), message);
            continue;
        }
        links.by_id.insert(link.id, links.all.len());
        links.all.push(link);
    }
    // If a link could not be read, a finding about a reference to it would repeat the mistake.
    if all_read {
        check_references(&mut links, report);
    }
    links
}

fn read_one<'a>(fields: &Fields<'a>, report: &mut Report) -> Result<Link<'a>, Reported> {
    let id = fields.required_text("id", "networks and other links refer to a link by it", report);
    let kind = kind_of_link(fields, report);
    let name = fields.text("name", report);
    let mtu = members::number(fields, "mtu", 1..=65535, report);
    let (kind, known, mac_key): (_, &[&str], _) = match kind? {
        "bond" => (bond::read(fields, report).map(Kind::Bond), &["ethernet_mac_address"], "ethernet_mac_address"),
        "vlan" => (read_vlan(fields, report), &["vlan_link", "vlan_id", "vlan_mac_address"], "vlan_mac_address"),
        nic if NIC_TYPES.contains(&nic) => (Ok(Kind::Nic), &["ethernet_mac_address"], "ethernet_mac_address"),
        other => {
            let known = NIC_TYPES.join(", ");
            let message =
                format!("is {other:?}, which is not a link type; write bond, vlan or, for a NIC, one of {known}");
            return Err(fields.wrong("type", "link-type-unknown", message, report));
        }
    };
    let mac = read_mac(fields, mac_key, report);
    let (id, name, mtu, kind, mac) = (id?, name?, mtu?, kind?, mac?);
    let path = fields.path.clone();
    report_unknown(fields, known, matches!(kind, Kind::Bond(_)), report);
    if mac.is_none() && matches!(kind, Kind::Nic) {
        let Some(name) = name else {
            let message = "is missing: the host finds a NIC by its MAC address (or, with a warning, by a name)";
            return Err(fields.wrong("ethernet_mac_address", "nic-unidentified", message, report));
        };
        let message = format!(
            "has no ethernet_mac_address: dayone assumes that it is the NIC that the kernel calls {name:?}; names \
             differ from kernel to kernel"
        );
        report.warning("nic-by-name", &path, message);
    }
    Ok(Link { path, id, name, mac, mtu, kind })
}

/// Reads the type of a link. nova writes `null` if it does not know how the hypervisor attaches a NIC, and cloud-init reads that
/// as a NIC.
fn kind_of_link<'a>(fields: &Fields<'a>, report: &mut Report) -> Result<&'a str, Reported> {
    match fields.mapping.get("type") {
        Some(Value::Null) => Ok("phy"),
        _ => fields.required_text("type", "phy, bond or vlan", report),
    }
}

fn read_vlan<'a>(fields: &Fields<'a>, report: &mut Report) -> Result<Kind<'a>, Reported> {
    let lower = fields.required_text("vlan_link", "the id of the link that the VLAN is on", report);
    let id = members::number(fields, "vlan_id", 0..=4094, report)?
        .ok_or_else(|| fields.wrong("vlan_id", "member-missing", "is missing: the number of the VLAN", report));
    Ok(Kind::Vlan { lower: lower?, id: id? })
}

pub(in crate::input::shapes) fn read_mac(
    fields: &Fields<'_>,
    key: &str,
    report: &mut Report,
) -> Result<Option<(MacAddress, DocumentPath)>, Reported> {
    let Some(text) = fields.text(key, report)? else { return Ok(None) };
    match text.parse() {
        Ok(mac) => Ok(Some((mac, fields.path.key(key)))),
        Err(error) => Err(fields.wrong(key, "mac-address-invalid", format!("is refused: {error}"), report)),
    }
}

fn report_unknown(fields: &Fields<'_>, known: &[&str], is_bond: bool, report: &mut Report) {
    let options = fields.mapping.keys().filter_map(Value::as_str);
    let options = options.filter(|key| is_bond && bond::option_name(key).is_some());
    let all: Vec<&str> =
        ["id", "type", "name", "mtu", "vif_id"].into_iter().chain(known.iter().copied()).chain(options).collect();
    members::report_unknown(fields, &all, report);
}

fn check_references(links: &mut Links<'_>, report: &mut Report) {
    let mut bonds = BTreeMap::new();
    let mut vlans = BTreeMap::new();
    for link in &links.all {
        match &link.kind {
            Kind::Nic => {}
            Kind::Bond(bond) => {
                for (port, path) in &bond.ports {
                    if links.get(port).is_none() {
                        report.error("link-not-found", path, not_found(port, links));
                    } else if let Some(other) = bonds.insert(*port, link.id) {
                        let message =
                            format!("is {port:?}, which is a link of {other:?} already; a NIC belongs to one bond");
                        report.error("link-in-two-bonds", path, message);
                    }
                }
            }
            Kind::Vlan { lower, id } => {
                if links.get(lower).is_none() {
                    report.error("link-not-found", &link.path.key("vlan_link"), not_found(lower, links));
                } else if let Some(other) = vlans.insert((*lower, *id), link.id) {
                    let message = format!("is {id}, like the vlan_id of {other:?} on the same link");
                    report.error("vlan-duplicate", &link.path.key("vlan_id"), message);
                }
            }
        }
    }
    links.bonds = bonds;
    check_cycles(links, report);
}

fn not_found(id: &str, links: &Links<'_>) -> String {
    format!("is {}, and no link has that id; the ids are {}", quoted(id), links.ids())
}

/// Reports links that depend on themselves.
fn check_cycles(links: &Links<'_>, report: &mut Report) {
    // A link is settled if everything below it is, beginning with NICs. A link in a cycle never becomes settled.
    let mut settled = vec![false; links.all.len()];
    let is_settled = |id: &str, settled: &[bool]| {
        links.position(id).is_none_or(|position| settled.get(position).copied().unwrap_or(true))
    };
    loop {
        let mut changed = false;
        for (position, link) in links.all.iter().enumerate() {
            let ready = match &link.kind {
                Kind::Nic => true,
                Kind::Bond(bond) => bond.ports.iter().all(|(port, _)| is_settled(port, &settled)),
                Kind::Vlan { lower, .. } => is_settled(lower, &settled),
            };
            if let Some(known) = settled.get_mut(position)
                && ready
                && !*known
            {
                *known = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    if let Some((link, _)) = links.all.iter().zip(settled).find(|(_, settled)| !settled) {
        report.error("link-cycle", &link.path, "depends on itself, through its links or vlan_link");
    }
}
