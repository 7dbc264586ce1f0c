//! MAC addresses.

use std::collections::{BTreeMap, BTreeSet};

use super::link::Link;
use super::{CheckedHost, Comparison, SAID, and_more, name_of, visible_addresses};
use crate::model::{Address, Device, Interface, Kind};
use vocabulary::host::MacAddress;
use vocabulary::report::{DocumentPath, Severity};

/// How many hosts are remembered that have one address, each perhaps on a link of its own.
const LINKS: usize = 64;

/// A host that has an address.
struct Holder<'a> {
    host: &'a CheckedHost<'a>,
    path: DocumentPath,
    /// The bridge or VLAN to which the document gives the address, unless a NIC or a bond has it.
    above: Option<&'a Interface>,
}

/// The hosts that have one address, and of how many it was said.
#[derive(Default)]
struct Holders<'a> {
    /// The first host, the first that has it on a NIC or a bond, and one on each link.
    known: Vec<Holder<'a>>,
    errors: usize,
    warnings: usize,
}

pub(super) fn check(hosts: &[CheckedHost<'_>], found: &mut Comparison) {
    let mut seen: BTreeMap<MacAddress, Holders<'_>> = BTreeMap::new();
    for host in hosts {
        // A host says of one NIC at several places which it is, and a bond may have the address of its port.
        for (mac, holder) in macs(host) {
            seen.entry(mac).or_default().add(mac, holder, found);
        }
    }
}

impl<'a> Holders<'a> {
    /// Reports that one more host has the address.
    fn add(&mut self, mac: MacAddress, new: Holder<'a>, found: &mut Comparison) {
        let Some(first) = self.known.first() else {
            self.known.push(new);
            return;
        };
        let same = self.known.iter().find(|other| other.collides_with(&new));
        let (holder, severity, said) = match same {
            Some(same) => (same, Severity::Error, &mut self.errors),
            None => (first, Severity::Warning, &mut self.warnings),
        };
        *said += 1;
        if *said <= SAID {
            let (other, other_path) = (name_of(holder.host), &holder.path);
            let mut message = format!("has the MAC address {mac}, which {other} has as well ({other_path})");
            and_more(*said, &mut message);
            if severity == Severity::Error {
                found.error(&[holder.host, new.host], "mac-address-of-two-hosts", &new.path, message);
            } else {
                found.report.warning("mac-address-of-two-hosts", &new.path, message);
            }
        } else if severity == Severity::Error {
            found.unsaid_error(new.host);
        }
        let is_first_below = new.above.is_none() && self.known.iter().all(|known| known.above.is_some());
        if is_first_below || (same.is_none() && self.known.len() < LINKS) {
            self.known.push(new);
        }
    }
}

impl Holder<'_> {
    /// Whether only one of the two hosts can have the address. NICs and bonds have addresses of their own. On bridges and VLANs,
    /// hosts may share an address on purpose (an anycast gateway), so these must have addresses in one network on one link, or ask
    /// for some on one link, as no such gateway does.
    fn collides_with(&self, other: &Self) -> bool {
        let (Some(own), Some(theirs)) = (self.above, other.above) else { return true };
        let both_ask = asks(own).into_iter().zip(asks(theirs)).any(|(own, theirs)| own && theirs);
        let asks_on = Link::of_automatic(self.host, own);
        if both_ask && !asks_on.is_apart_from(&Link::of_automatic(other.host, theirs)) {
            return true;
        }
        let is_one = |a: &Address, b: &Address| {
            (a.network.contains(&b.network.addr()) || b.network.contains(&a.network.addr()))
                && !Link::of(self.host, own, a).is_apart_from(&Link::of(other.host, theirs, b))
        };
        let mut all = visible_addresses(self.host).filter(|(interface, _)| interface.name == own.name);
        all.any(|(_, a)| {
            visible_addresses(other.host).any(|(interface, b)| interface.name == theirs.name && is_one(a, b))
        })
    }
}

/// Whether an interface asks for addresses, by family. A gateway whose profile leaves IPv6 out listens to routers, too.
fn asks(interface: &Interface) -> [bool; 2] {
    let Interface { ipv4, ipv6, active, .. } = interface;
    [ipv4.is_automatic(), ipv6.is_automatic() && ipv4.addresses.is_empty()].map(|asks| asks && *active)
}

/// The addresses of a host that others can see, each once.
fn macs<'a>(host: &'a CheckedHost<'a>) -> Vec<(MacAddress, Holder<'a>)> {
    let spec = host.host;
    let mut macs: Vec<(MacAddress, DocumentPath, Option<&'a Interface>)> = Vec::new();
    let mut above = Vec::new();
    macs.extend(spec.boot_mac.map(|mac| (mac, spec.paths.boot_mac.clone(), None)));
    macs.extend(spec.nics.iter().map(|nic| (nic.mac, nic.path.clone(), None)));
    for interface in &host.topology.interfaces {
        let path = || interface.path.clone();
        if let Device::Mac(mac) = interface.device {
            macs.push((mac, path(), None));
        }
        match (interface.mac, &interface.kind) {
            (Some(mac), Kind::Ethernet | Kind::Bond(_)) => macs.push((mac, path(), None)),
            (Some(mac), Kind::Vlan(_)) => above.push((mac, path(), Some(interface))),
            (Some(mac), Kind::LinuxBridge(_)) if host.topology.ports(&interface.name).next().is_some() => {
                above.push((mac, path(), Some(interface)));
            }
            _ => {}
        }
    }
    // A bridge or VLAN may have the address of the NIC below it.
    macs.append(&mut above);
    let mut seen = BTreeSet::new();
    macs.retain(|(mac, _, _)| seen.insert(*mac));
    macs.into_iter().map(|(mac, path, above)| (mac, Holder { host, path, above })).collect()
}
