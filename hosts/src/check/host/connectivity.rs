//! Checks that a host has an address at all.

use super::{Network, has_address};
use crate::model::{Device, Interface, Method};
use vocabulary::report::Report;

pub(super) fn check(network: &Network<'_>, report: &mut Report) {
    if !network.active().any(has_address) {
        let path = network.host.network.path();
        let message = "gives no interface an address, static or automatic: the host comes up, and nothing can reach it";
        report.warning("no-address", &path, message);
        return;
    }
    let Some(boot_mac) = network.host.boot_mac else { return };
    let boots = network.active().find(|interface| interface.device == Device::Mac(boot_mac));
    if let Some(nic) = boots.filter(|nic| is_idle(network, nic)) {
        let message = format!(
            "is {}, the NIC that the host boots from ({boot_mac}), and has no address and no interface on it",
            nic.name
        );
        report.warning("boot-nic-unused", &nic.path, message);
    }
}

fn is_idle(network: &Network<'_>, nic: &Interface) -> bool {
    let is_link = nic.ipv6.method == Method::LinkLocal && network.announces_addresses();
    !has_address(nic) && !is_link && nic.controller.is_none() && network.children(&nic.name).is_empty()
}
