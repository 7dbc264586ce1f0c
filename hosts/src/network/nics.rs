//! NICs that a list beside the network identifies by MAC addresses.
//!
//! agent-config and `NMStateConfig` list which NIC a name in the network means ([`NamedNic`]). dayone writes that into the
//! document as NMState's `identifier: mac-address`: the profile then finds the NIC by its permanent address, whatever the
//! kernel calls it, and what refers to the NIC refers to its profile. dayone replaces no text of a profile, so it does not
//! mistake `eth1` for the beginning of `eth10`, and NICs may swap their names. The nmstate crate must read the result, so
//! this works on the document and not on the model.
//!
//! assisted-service demands of such documents that an ethernet interface which is not in the list has a predictable name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::{Mapping, Value};

use crate::nmstate_document::pattern::Searched;
use crate::nmstate_document::references::REFERENCES;
use crate::nmstate_document::{descend, quoted, text};
use vocabulary::host::{MacAddress, NamedNic, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};

/// The document in which every NIC of the list is found by its MAC address. NICs that NMState cannot find so are reported.
pub(crate) fn identify<'a>(
    document: &'a NmstateDocument,
    nics: &[NamedNic],
    report: &mut Report,
) -> Cow<'a, NmstateDocument> {
    let macs = by_name(nics, report);
    if macs.is_empty() || !matches!(document.value, Value::Mapping(_)) {
        return Cow::Borrowed(document);
    }
    let mut identified = document.clone();
    if let Value::Mapping(map) = &mut identified.value {
        let missing = missing(&Searched::of(map), &macs, &document.path, report);
        if !map.get("interfaces").is_some_and(Value::is_sequence) && !missing.is_empty() {
            map.insert("interfaces".into(), Value::Sequence(Vec::new()));
        }
        let at = document.path.key("interfaces");
        if let Some(Value::Sequence(entries)) = map.get_mut("interfaces") {
            for (index, entry) in entries.iter_mut().enumerate() {
                let path = at.index(index);
                if let Some(nic) = entry.get("name").and_then(Value::as_str).and_then(|name| macs.get(name))
                    && let Value::Mapping(entry) = entry
                    && identify_entry(entry, nic, &path, report)
                {
                    // What later checks say about these, they say about the list.
                    for key in ["identifier", "mac-address"] {
                        identified.origins.made(path.key(key), nic.path.clone());
                    }
                }
            }
            for nic in missing {
                identified.origins.made(at.index(entries.len()), nic.path.clone());
                entries.push(Value::Mapping(new_entry(nic)));
            }
        }
    }
    Cow::Owned(identified)
}

/// The NICs of the list, each once.
fn by_name<'a>(nics: &'a [NamedNic], report: &mut Report) -> BTreeMap<&'a str, &'a NamedNic> {
    let mut names: BTreeMap<&str, &NamedNic> = BTreeMap::new();
    let mut macs: BTreeMap<MacAddress, &NamedNic> = BTreeMap::new();
    for nic in nics {
        let name = quoted(&nic.name);
        match (names.get(nic.name.as_str()), macs.get(&nic.mac)) {
            (Some(first), _) if first.mac == nic.mac => {}
            (Some(first), _) => {
                let message = format!("says that {name} is the NIC {}, and {} says {}", nic.mac, first.path, first.mac);
                report.error("nic-name-ambiguous", &nic.path, message + "; a name stands for one NIC");
            }
            (_, Some(first)) => {
                let other = quoted(&first.name);
                let message = format!("says that {name} is the NIC {}, which {} calls {other}", nic.mac, first.path);
                report.error("nic-mac-ambiguous", &nic.path, message + "; both profiles would match the same NIC");
            }
            _ => {
                names.insert(&nic.name, nic);
                macs.insert(nic.mac, nic);
            }
        }
    }
    names
}

/// The NICs of the list that have no entry and are referred to. What the list has too much or too little is reported.
fn missing<'a>(
    document: &Searched<'_>,
    macs: &BTreeMap<&str, &'a NamedNic>,
    path: &DocumentPath,
    report: &mut Report,
) -> Vec<&'a NamedNic> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut profiles: BTreeSet<&str> = BTreeSet::new();
    document.each(&["interfaces", "*"], &mut |steps, entry| {
        let Some(entry) = entry.as_mapping() else { return };
        let Some(name) = text(entry, "name") else { return };
        known.insert(name);
        profiles.extend(text(entry, "profile-name"));
        let by_name = matches!(text(entry, "identifier"), None | Some("name"));
        let left_out = matches!(text(entry, "state"), Some("absent" | "ignore"));
        if is_nic(entry) && by_name && !left_out && !macs.contains_key(name) {
            report_unmapped(name, &descend(path, steps).key("name"), report);
        }
    });
    let mut referred: BTreeSet<&str> = BTreeSet::new();
    for pattern in REFERENCES.iter().copied().chain([COPY_MAC_FROM]) {
        document.each(pattern, &mut |steps, value| {
            let Some(name) = value.as_str().filter(|name| !known.contains(name) && !profiles.contains(name)) else {
                return;
            };
            if referred.insert(name) && !name.is_empty() && !macs.contains_key(name) {
                report_unmapped(name, &descend(path, steps), report);
            }
        });
    }
    let mut missing = Vec::new();
    for (name, nic) in macs {
        if referred.contains(name) {
            missing.push(*nic);
        } else if !known.contains(name) {
            let message =
                format!("names {}, which the network does not describe: the entry has no effect", quoted(name));
            report.warning("nic-unused", &nic.path, message);
        }
    }
    missing
}

const COPY_MAC_FROM: &[&str] = &["interfaces", "*", "copy-mac-from"];

/// Names that udev derives from where a NIC is (systemd.net-naming-scheme(7)) begin so.
fn report_unmapped(name: &str, path: &DocumentPath, report: &mut Report) {
    if !name.starts_with("en") {
        let message = format!(
            "is {}, whose MAC address is not in the list beside the network: the profile finds the NIC by this name, \
             which does not look like a name from udev (en…); add it to the list",
            quoted(name)
        );
        report.warning("nic-not-listed", path, message);
    }
}

/// Whether an entry is a NIC, which alone has an address to be found by.
fn is_nic(entry: &Mapping) -> bool {
    let kind = entry.get("type").map_or(Some("ethernet"), Value::as_str);
    kind == Some("ethernet") && !entry.contains_key("veth")
}

/// Whether the entry is now found by its MAC address.
fn identify_entry(entry: &mut Mapping, nic: &NamedNic, path: &DocumentPath, report: &mut Report) -> bool {
    if !is_nic(entry) {
        let kind = text(entry, "type").filter(|kind| *kind != "ethernet").unwrap_or("veth");
        let message = format!("names {}, which is of type {}: ", quoted(&nic.name), quoted(kind));
        let advice = "only ethernet interfaces have a MAC address that identifies them; remove it from the list";
        report.error("nic-not-ethernet", &nic.path, message + advice);
        return false;
    }
    let given = text(entry, "mac-address");
    let same = given.is_some_and(|given| given.parse() == Ok(nic.mac));
    let list = format!("{} says {}", nic.path, nic.mac);
    match (text(entry, "identifier"), given) {
        (None | Some("name" | "mac-address"), None) => {}
        (None | Some("name" | "mac-address"), Some(_)) if same => {}
        (Some("mac-address"), Some(given)) => {
            let message = format!("is {}, and {list}: these are two different NICs", quoted(given));
            report.error("nic-identified-otherwise", &path.key("mac-address"), message);
            return false;
        }
        (None | Some("name"), Some(given)) => {
            let message = format!(
                "is {}, an address to set on the NIC for which {list}; NMState cannot both find a NIC by its own \
                 address and set another one: remove the address here, or the NIC from the list",
                quoted(given)
            );
            report.error("nic-mac-to-set", &path.key("mac-address"), message);
            return false;
        }
        (Some(other), _) => {
            let message = format!("is {}, and {list}: identify a NIC in one way; remove one of the two", quoted(other));
            report.error("nic-identified-otherwise", &path.key("identifier"), message);
            return false;
        }
    }
    entry.insert("identifier".into(), "mac-address".into());
    entry.insert("mac-address".into(), nic.mac.to_string().into());
    true
}

/// What nmstate makes of a port that has no entry.
fn new_entry(nic: &NamedNic) -> Mapping {
    let mac = nic.mac.to_string();
    let members = [
        ("name", nic.name.as_str()),
        ("type", "ethernet"),
        ("state", "up"),
        ("identifier", "mac-address"),
        ("mac-address", &mac),
    ];
    members.into_iter().map(|(key, value)| (key.into(), value.into())).collect()
}
