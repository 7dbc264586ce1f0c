//! The NIC that the host boots from ([`HostSpec::boot_mac`]), against what the network says of it.
//!
//! [`HostSpec::boot_mac`]: vocabulary::host::HostSpec::boot_mac

use serde_yaml::Mapping;

use crate::nmstate_document::interfaces::{Interface, known_names};
use crate::nmstate_document::mac;
use crate::nmstate_document::{elements, text};
use vocabulary::host::MacAddress;
use vocabulary::report::{DocumentPath, Report};

/// Warns where the NIC is certainly left without a network. That may be meant: a NIC may be there for booting only.
pub(crate) fn check(
    document: &Mapping,
    interfaces: &[Interface<'_>],
    boot_mac: MacAddress,
    path: &DocumentPath,
    report: &mut Report,
) {
    let at = path.key("interfaces");
    for (index, entry) in elements(document, &["interfaces"]).iter().enumerate() {
        let Some(entry) = entry.as_mapping() else { continue };
        let address = text(entry, "mac-address").filter(|_| text(entry, "identifier") == Some("mac-address"));
        let state = text(entry, "state").filter(|state| matches!(*state, "down" | "absent" | "ignore"));
        if let Some(state) = state
            && address.and_then(|mac| mac.parse().ok()) == Some(boot_mac)
        {
            let message = format!("is {state}, and the host boots from this NIC ({boot_mac})");
            report.warning("boot-nic-down", &at.index(index).key("state"), message);
            return;
        }
    }
    let known = known_names(interfaces);
    let mut parents =
        interfaces.iter().filter_map(|interface| interface.map.get(interface.kind)?.get("base-iface")?.as_str());
    let by_name_only = parents.any(|parent| !parent.is_empty() && !known.contains(parent));
    let nics = mac::nics(interfaces);
    let elsewhere = |mac: Option<MacAddress>| mac.is_some_and(|mac| mac != boot_mac);
    if !by_name_only && !nics.is_empty() && nics.iter().all(|nic| elsewhere(nic.own)) {
        let message = format!(
            "has no NIC with the MAC address {boot_mac}, which the host boots from (bootMACAddress): that NIC gets no \
             profile"
        );
        report.warning("boot-nic-not-in-network", &at, message);
    }
}
