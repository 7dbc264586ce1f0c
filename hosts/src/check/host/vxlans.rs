//! VXLANs that the kernel does not create, because of their addresses or of each other.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Network;
use crate::model::{Family, Interface, Kind, Vxlan};
use vocabulary::network_files::NetworkFiles;
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    twins(network, report);
    addresses(network, report);
}

/// What tells VXLANs apart. The base interface counts only if the local address is valid on one link only.
type VxlanKey<'a> = (u32, u16, Family, Option<&'a str>);

fn key(vxlan: &Vxlan) -> VxlanKey<'_> {
    let is_of_a_link = vxlan.local.is_some_and(is_of_a_link);
    (vxlan.id, vxlan.udp_port(), vxlan.family(), vxlan.parent.as_deref().filter(|_| is_of_a_link))
}

/// Whether an address, which may be a multicast address, is valid on one link only (`IPV6_ADDR_LINKLOCAL`).
fn is_of_a_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) if address.is_multicast() => address.segments()[0] & 0xf == 2,
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Reports addresses with which the kernel creates no VXLAN (`vxlan_config_validate`). For port 0, the kernel creates the VXLAN with
/// another port, and NetworkManager does not recognise this port as the port of its profile.
fn addresses(network: &Network<'_>, report: &mut Report) {
    for interface in network.active() {
        let Kind::Vxlan(vxlan) = &interface.kind else { continue };
        let place = |key: &str| network.place(interface, &["vxlan", key], &["vxlan", key]);
        let (local, remote) = (vxlan.local, vxlan.remote);
        let is_local_of_a_link = local.is_some_and(is_of_a_link);
        if let Some(local) = local.filter(IpAddr::is_multicast) {
            let message = format!("is {local}, a multicast address: the kernel does not create the VXLAN");
            report.add(network.severity(), "vxlan-address-refused", &place("local"), message);
        } else if let (Some(local), Some(remote), true) = (local, remote, is_local_of_a_link)
            && !is_of_a_link(remote)
        {
            let message = format!(
                "is {local}, which is link-local, and remote is {remote}, which is not: the kernel does not create the VXLAN"
            );
            report.add(network.severity(), "vxlan-address-refused", &place("local"), message);
        } else if let Some(remote) =
            remote.filter(|remote| !is_local_of_a_link && !remote.is_multicast() && is_of_a_link(*remote))
        {
            let message = format!(
                "is {remote}, which is link-local, and local is no such address: the kernel does not create the VXLAN"
            );
            report.add(network.severity(), "vxlan-address-refused", &place("remote"), message);
        } else if vxlan.parent.is_none()
            && let Some(message) = need_of_base(vxlan)
        {
            report.add(network.severity(), "vxlan-without-base", &interface.path, message);
        }
        if vxlan.port == 0 && network.files == NetworkFiles::Keyfiles {
            let message = "is 0, for which the kernel takes another port: NetworkManager does not activate the VXLAN";
            report.add(network.severity(), "vxlan-port-zero", &place("destination-port"), message);
        }
    }
}

/// Why the kernel does not create a VXLAN without a base interface.
fn need_of_base(vxlan: &Vxlan) -> Option<String> {
    if let Some(remote) = vxlan.remote.filter(IpAddr::is_multicast) {
        return Some(format!(
            "has the multicast address {remote} as remote and no interface below, by which the kernel would join the \
             group: the kernel does not create the VXLAN"
        ));
    }
    let local = vxlan.local.filter(|local| is_of_a_link(*local))?;
    Some(format!(
        "has the link-local address {local} as local and no interface below, whose link that would be: the kernel does \
         not create the VXLAN"
    ))
}

/// The kernel gives the packets of one identifier that arrive at one port to one interface (`vxlan_config_validate`).
fn twins(network: &Network<'_>, report: &mut Report) {
    let mut seen: BTreeMap<VxlanKey<'_>, &Interface> = BTreeMap::new();
    for interface in network.active() {
        let Kind::Vxlan(vxlan) = &interface.kind else { continue };
        let first = *seen.entry(key(vxlan)).or_insert(interface);
        if std::ptr::eq(first, interface) {
            continue;
        }
        let message = format!(
            "is VXLAN {} at UDP port {} over {}, like {} ({}): the kernel creates only one of the two",
            vxlan.id,
            vxlan.udp_port(),
            vxlan.family().name(),
            first.name,
            first.path
        );
        report.add(network.severity(), "vxlan-twice", &interface.path, message);
    }
}
