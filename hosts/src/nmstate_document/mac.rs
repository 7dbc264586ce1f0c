//! `copy-mac-from`: a bond or a bridge that takes the MAC address of a NIC.
//!
//! nmstate reads the address from the NIC's entry in the document. Where that says none, a running system would
//! know it; before first boot only [`HostSpec::boot_mac`] may. It is the source's address for certain enough when
//! the source is the only NIC of the document whose own address the document does not say, and no other NIC is
//! said to have it. A `mac-address` of a NIC that is identified by its name is one to set, not its own. nmstate must find
//! the address in the document, so this works on the document and not on the model.
//!
//! [`HostSpec::boot_mac`]: vocabulary::host::HostSpec::boot_mac

use std::borrow::Cow;

use serde_yaml::{Mapping, Value};

use crate::members::get;
use crate::nmstate_document::interfaces::{Identifier, Interface, known_names};
use crate::nmstate_document::{ports, quoted, text};
use vocabulary::host::MacAddress;
use vocabulary::report::Report;

/// A NIC of the document, and what the document says of its own address.
pub(crate) struct Nic<'a> {
    name: &'a str,
    pub(crate) own: Option<MacAddress>,
}

/// Writes `mac-address` for each `copy-mac-from` that nmstate could not follow.
pub(crate) fn resolve(
    document: &mut Cow<'_, Mapping>,
    interfaces: &[Interface<'_>],
    boot_mac: Option<MacAddress>,
    report: &mut Report,
) {
    if interfaces.iter().all(|interface| get(interface.map, "copy-mac-from").is_none()) {
        return;
    }
    let nics = nics(interfaces);
    for interface in interfaces {
        let Some(source) = text(interface.map, "copy-mac-from") else { continue };
        let path = interface.path.key("copy-mac-from");
        let entry = interfaces.iter().find(|other| {
            other.name == source || text(other.map, "profile-name").is_some_and(|profile| profile == source)
        });
        let says_its_address = |entry: &Interface<'_>| {
            ["permanent-mac-address", "mac-address"].iter().any(|key| text(entry.map, key).is_some())
        };
        if entry.is_some_and(says_its_address) {
            continue;
        }
        match boot_mac.ok_or(NO_BOOT_MAC).and_then(|mac| certain(mac, entry.map_or(source, |e| e.name), &nics)) {
            Ok(mac) => {
                let message = format!(
                    "is {}: dayone assumes that it is the NIC that the host boots from ({mac})",
                    quoted(source)
                );
                report.warning("copy-mac-from-boot-nic", &path, message);
                set(document.to_mut(), interface.index, mac);
            }
            Err(reason) => {
                let message = format!("is {}, whose MAC address is not known: {reason}", quoted(source));
                report.error("copy-mac-from", &path, message);
            }
        }
    }
}

const NO_BOOT_MAC: &str =
    "the document does not say it, nor do the host's documents; write mac-address here instead of copy-mac-from";

fn certain(boot_mac: MacAddress, source: &str, nics: &[Nic<'_>]) -> Result<MacAddress, &'static str> {
    let mut unknown = nics.iter().filter(|nic| nic.own.is_none());
    match (unknown.next(), unknown.next()) {
        _ if nics.iter().any(|nic| nic.own == Some(boot_mac)) => {
            Err("the host boots from another NIC; write mac-address here instead of copy-mac-from")
        }
        (Some(only), None) if only.name == source => Ok(boot_mac),
        _ => Err("the host's boot MAC address could be that of another NIC; write mac-address here instead of \
                  copy-mac-from"),
    }
}

/// The ethernet devices of the document: those with an entry, and ports without one, which nmstate adds.
pub(crate) fn nics<'a>(interfaces: &[Interface<'a>]) -> Vec<Nic<'a>> {
    let mut nics: Vec<Nic<'a>> = interfaces
        .iter()
        .filter(|interface| interface.kind == "ethernet" && get(interface.map, "veth").is_none())
        .map(|interface| Nic { name: interface.name, own: own_address(interface) })
        .collect();
    let mut known = known_names(interfaces);
    for port in interfaces.iter().flat_map(|interface| ports::names(interface.map)) {
        if known.insert(port) {
            nics.push(Nic { name: port, own: None });
        }
    }
    nics
}

fn own_address(interface: &Interface<'_>) -> Option<MacAddress> {
    match interface.identifier {
        Identifier::Mac(mac) => Some(mac),
        _ => text(interface.map, "permanent-mac-address").and_then(|mac| mac.parse().ok()),
    }
}

fn set(document: &mut Mapping, index: usize, mac: MacAddress) {
    let interfaces = document.get_mut("interfaces").and_then(Value::as_sequence_mut);
    if let Some(Value::Mapping(interface)) = interfaces.and_then(|interfaces| interfaces.get_mut(index)) {
        interface.remove("copy-mac-from");
        interface.insert("mac-address".into(), mac.to_string().into());
    }
}
