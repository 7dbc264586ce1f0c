//! Compares what an autoinstall file says of the network with the host's documents.

use std::collections::HashSet;

use serde_yaml::{Mapping, Value};

use super::{IDENTITY, NETWORK, netplan};
use crate::input;
use crate::network::{NetworkFiles, Target, convert_network};
use vocabulary::host::HostName;
use vocabulary::report::{DocumentPath, Report, Reported, Severity};

const CODE: &str = "answers-contradict-network";
const FIX: &str = "remove network from the file, and dayone writes it, or correct the one that is wrong";

/// Members that netplan has defaults for, which depend on the release, and which few files have.
const UNSAID: [&str; 4] = ["accept-ra", "dhcp-identifier", "dhcp6", "link-local"];

/// Members that dayone writes because systemd-networkd's defaults are not what keyfiles do, and what happens without them.
const LEFT_OUT: [(&[&str], &str); 9] = [
    (&["macaddress"], "the host has an address that is made up, and DHCP may give it another IP address"),
    (&["dhcp-identifier"], "the host has another client id, and DHCP may give it another IP address"),
    (&["dhcp4-overrides", "route-metric"], METRIC),
    (&["dhcp4-overrides", "use-domains"], DOMAINS),
    (&["dhcp6-overrides", "route-metric"], METRIC),
    (&["dhcp6-overrides", "use-domains"], DOMAINS),
    (&["parameters", "mii-monitor-interval"], "the bond does not notice that a port has lost its link"),
    (&["parameters", "stp"], "a bridge without parameters has no spanning tree protocol (STP)"),
    (&["parameters", "path-cost"], "the cost of a port follows from its speed, and STP may block another port"),
];
const METRIC: &str = "the routes that the network offers have the metric 100, and another default route may win";
const DOMAINS: &str = "the host does not use the search domains that the network offers";

/// Checks the host name of the installed system, if both have one.
pub(super) fn check_hostname(
    answers: &Mapping,
    hostname: Option<&HostName>,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<(), Reported> {
    let given = answers.get(IDENTITY).and_then(|identity| identity.get("hostname"));
    let (Some(given), Some(wanted)) = (given.and_then(Value::as_str), hostname) else { return Ok(()) };
    if given == wanted.as_str() {
        return Ok(());
    }
    let message =
        format!("is {given:?}, and the host's documents have {:?}; correct the one that is wrong", wanted.as_str());
    Err(report.refuse(CODE, &path.key(IDENTITY).key("hostname"), message))
}

/// Checks that the installer reads the MAC addresses of the network as text, and its numbers as dayone does. The installer reads YAML 1.1:
/// a MAC address of decimal digits is a number to base 60, and a number with 0 in front is a number to base 8. netplan itself reads
/// neither in this way.
///
/// `removed` is the number of lines of the user's file that were before the members, and are not in `text`.
pub(super) fn check_plain_numbers(
    text: &str,
    removed: usize,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<(), Reported> {
    // PyYAML's numbers (`yaml/resolver.py`) that have the form of a MAC address.
    let is_number = |text: &str| {
        // `0o17` is a number only for dayone's reader, and text for the installer's.
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text).strip_prefix('0');
        let digits = digits.map(|digits| digits.strip_prefix('o').unwrap_or(digits)).unwrap_or_default();
        if !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7' | b'_')) {
            return true;
        }
        let groups: Vec<&[u8]> = text.split(':').map(str::as_bytes).collect();
        matches!(groups.as_slice(), [[b'1'..=b'9', b'0'..=b'9'], others @ ..]
            if others.len() == 5 && others.iter().all(|group| matches!(group, [b'0'..=b'5', b'0'..=b'9'])))
    };
    match input::lines_with_plain(text, NETWORK, is_number).first() {
        None => Ok(()),
        Some(line) => {
            let message = format!(
                "line {} has a MAC address without quotes, or a number with 0 in front, which the installer reads to another base (YAML \
                 1.1); write a MAC address or a name in quotes, and a number without the 0",
                line + removed
            );
            Err(report.refuse("answers-invalid", path, message))
        }
    }
}

/// Checks a network of the user's own: the installer and netplan must accept it, and it must be the one that dayone would write.
pub(super) fn check_network(
    network: &Value,
    wanted: &Value,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<(), Reported> {
    // The first release wanted the member twice.
    let (inner, path) = match network.get(NETWORK) {
        Some(inner) => (inner, path.key(NETWORK)),
        None => (network, path.clone()),
    };
    let Value::Mapping(members) = inner else {
        return Err(report.refuse("answers-invalid", &path, format!("is not a mapping, or is there twice; {FIX}")));
    };
    let mut found = Report::new();
    netplan::check(members, &path, &mut found);
    if found.has_errors() {
        report.append(found);
        return Err(Reported);
    }
    check_names(members, &path, report)?;
    let given = canonical(members, &path, report)?;
    let members = by_names(members);
    // If no NIC has the MAC address of a bond or a bridge, the documents have set this address themselves.
    let nics = wanted.get("ethernets").and_then(Value::as_mapping).into_iter().flatten();
    let of_nics: HashSet<&Value> = nics
        .flat_map(|(_, nic)| [nic.get("macaddress"), nic.get("match").and_then(|found| found.get("macaddress"))])
        .flatten()
        .collect();
    match difference(&given, wanted, &Value::from(members.clone()), &path, &of_nics) {
        None => {
            left_out(&members, wanted, &path, report);
            Ok(())
        }
        Some((path, given, wanted)) => {
            let shown = |value: Option<&Value>| match value {
                Some(value) => serde_json::to_string(value).unwrap_or_default(),
                None => "nothing".to_owned(),
            };
            let (given, wanted) = (shown(given.as_ref()), shown(wanted.as_ref()));
            let message = format!("is {given}, and by the host's documents it is {wanted}; {FIX}");
            Err(report.refuse(CODE, &path, message))
        }
    }
}

/// Checks that no NIC that is found by its name gets another one. One that is found by its MAC address may have whatever name; the
/// documents' name of it is compared like the rest.
fn check_names(network: &Mapping, path: &DocumentPath, report: &mut Report) -> Result<(), Reported> {
    let nics = network.get("ethernets").and_then(Value::as_mapping).into_iter().flatten();
    let mut result = Ok(());
    for (id, nic) in nics {
        let found = nic.get("match");
        let name = found.and_then(|found| found.get("name")).and_then(Value::as_str);
        let is_by_mac = found.is_some_and(|found| found.get("macaddress").is_some());
        let (Some(set), Some(name), false) = (nic.get("set-name").and_then(Value::as_str), name, is_by_mac) else {
            continue;
        };
        if set != name {
            let path = path.key("ethernets").key(id.as_str().unwrap_or_default()).key("set-name");
            let message =
                format!("renames {name:?} to {set:?}, and by the host's documents the NIC keeps its name; {FIX}");
            result = Err(report.refuse(CODE, &path, message));
        }
    }
    result
}

/// Warns about members that the user's network leaves to systemd-networkd, whose defaults are not what keyfiles do. [`canonical`] adds them.
fn left_out(network: &Mapping, wanted: &Value, path: &DocumentPath, report: &mut Report) {
    let is_true = |device: &Value, key: &str| device.get(key).and_then(Value::as_bool).unwrap_or_default();
    let asks = |device: &Value| is_true(device, "dhcp4") || is_true(device, "dhcp6");
    let uses_stp = |device: &Value| device.get("parameters").is_some_and(|all| is_true(all, "stp"));
    let vlans = wanted.get("vlans").and_then(Value::as_mapping);
    let carries_one_that_asks =
        |id: &Value| vlans.into_iter().flatten().any(|(_, vlan)| vlan.get("link") == Some(id) && asks(vlan));
    for section in ["ethernets", "bonds", "bridges", "vlans"] {
        let Some(devices) = network.get(section) else { continue };
        for (id, device) in devices.as_mapping().into_iter().flatten() {
            let Some(wanted) = wanted.get(section).and_then(|devices| devices.get(id)) else { continue };
            if netplan::is_of_network_manager(device, devices, network) {
                continue;
            }
            let path = path.key(section).key(id.as_str().unwrap_or_default());
            let matters = |member: &str| match member {
                "macaddress" => asks(wanted) || carries_one_that_asks(id),
                // In these modes, the kernel watches the links every 100 ms by itself.
                "parameters.mii-monitor-interval" => {
                    let mode = wanted.get("parameters").and_then(|all| all.get("mode")).and_then(Value::as_str);
                    !matches!(mode, Some("802.3ad" | "balance-tlb" | "balance-alb"))
                }
                // With any parameters, netplan writes its own default: the protocol is on.
                "parameters.stp" => device.get("parameters").is_none() && uses_stp(wanted),
                // Without the protocol, costs have no effect.
                "parameters.path-cost" => device.get("parameters").is_some() && uses_stp(wanted),
                _ => true,
            };
            for (members, effect) in LEFT_OUT {
                let value = |device: &Value| members.iter().try_fold(device.clone(), |at, key| at.get(*key).cloned());
                let member = members.join(".");
                let (wanted, given) = (value(wanted), value(device));
                let lacks = match (&wanted, &given) {
                    (Some(_), None) => "no",
                    (Some(Value::Mapping(wanted)), Some(Value::Mapping(given))) if given.len() < wanted.len() => {
                        "an incomplete"
                    }
                    _ => continue,
                };
                if matters(&member) {
                    let wanted = serde_json::to_string(&wanted).unwrap_or_default();
                    let message = format!(
                        "has {lacks} {member}, and dayone would write {wanted}: with systemd-networkd, {effect}"
                    );
                    report.warning("answers-network-incomplete", &path, message);
                }
            }
        }
    }
}

/// Returns a network as dayone writes it. Reports why dayone cannot, at the place in the user's file.
fn canonical(network: &Mapping, path: &DocumentPath, report: &mut Report) -> Result<Value, Reported> {
    let (host, mut found) = input::read_network_config(network, path);
    let target = Target { files: NetworkFiles::Netplan, ..Target::default() };
    let bonds = bonds_of_networkd(network, path);
    let converted = host.and_then(|host| {
        let (converted, mut findings) = convert_network(&host, target);
        // dayone leaves these out, and the installer gets the user's network as it is.
        let unused = findings.findings().iter().filter(|finding| finding.code == "value-unused");
        for finding in unused.filter(|finding| bonds.iter().any(|bond| finding.path.is_inside(bond))) {
            let message = "has no effect with keyfiles, and netplan sets it: the kernel may refuse the whole bond";
            found.error(CODE, &finding.path, message);
        }
        // What may be wrong with the network itself is reported with the documents.
        findings.retain(|finding| finding.severity == Severity::Error);
        found.append(findings);
        converted
    });
    // A NIC's name was checked.
    found.forget("nic-not-renamed");
    // Like the other members that netplan has defaults for.
    found.forget("accept-ra-unset");
    let is_read = !found.has_errors();
    for finding in found.findings() {
        if finding.severity == Severity::Error {
            report.error(finding.code, &finding.path, format!("{}; {FIX}", finding.message));
        } else if is_read {
            report.warning("answers-unchecked", &finding.path, "is not compared with the host's documents");
        }
    }
    if !is_read {
        return Err(Reported);
    }
    let data = converted.and_then(|converted| converted.network_data);
    data.and_then(|data| serde_yaml::from_str(&data).ok()).ok_or_else(|| {
        let message = format!("has something that dayone cannot compare with the host's documents; {FIX}");
        report.refuse(CODE, path, message)
    })
}

/// The paths of the bonds that netplan gives to systemd-networkd. NetworkManager itself leaves out options without effect.
fn bonds_of_networkd(network: &Mapping, path: &DocumentPath) -> Vec<DocumentPath> {
    let Some(bonds) = network.get("bonds") else { return Vec::new() };
    let path = path.key("bonds");
    let all = bonds.as_mapping().into_iter().flatten();
    let of_networkd = all.filter(|(_, bond)| !netplan::is_of_network_manager(bond, bonds, network));
    of_networkd.map(|(id, _)| path.key(id.as_str().unwrap_or_default())).collect()
}

/// The first place at which two networks differ, and what is there. What the user has left to netplan differs from nothing.
fn difference(
    given: &Value,
    wanted: &Value,
    written: &Value,
    path: &DocumentPath,
    of_nics: &HashSet<&Value>,
) -> Option<(DocumentPath, Option<Value>, Option<Value>)> {
    let (Value::Mapping(ours), Value::Mapping(theirs)) = (wanted, given) else {
        return (given != wanted).then(|| (path.clone(), Some(given.clone()), Some(wanted.clone())));
    };
    let nothing = Value::Null;
    let mut keys: Vec<&Value> = ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(key))).collect();
    keys.sort_by_key(|key| key.as_str());
    keys.into_iter().find_map(|key| {
        let name = key.as_str().unwrap_or_default();
        if UNSAID.contains(&name) && written.get(key).is_none() {
            return None;
        }
        match (theirs.get(key), ours.get(key)) {
            (Some(given), Some(wanted)) if is_same_list(name, given, wanted) => None,
            // dayone's reader has taken that of a port, and [`left_out`] warns.
            (Some(_), Some(wanted))
                if name == "macaddress"
                    && written.is_mapping()
                    && written.get(key).is_none()
                    && of_nics.contains(wanted) =>
            {
                None
            }
            // Without parameters, netplan leaves the protocol to the kernel, whose default is off; [`left_out`] warns.
            (Some(_), Some(_)) if name == "stp" && !written.is_mapping() => None,
            (Some(given), Some(wanted)) => {
                difference(given, wanted, written.get(key).unwrap_or(&nothing), &path.key(name), of_nics)
            }
            (given, wanted) => Some((path.key(name), given.cloned(), wanted.cloned())),
        }
    })
}

/// Whether two lists differ only in what netplan does not keep: the order of ports, and repeated addresses.
fn is_same_list(key: &str, given: &Value, wanted: &Value) -> bool {
    if !matches!(key, "interfaces" | "addresses") {
        return false;
    }
    let [given, wanted] = [given, wanted].map(|list| {
        let mut items: Vec<&Value> = list.as_sequence().into_iter().flatten().collect();
        if key == "interfaces" {
            items.sort_by_key(|item| item.as_str());
        }
        let mut seen = HashSet::new();
        items.retain(|item| seen.insert(*item));
        items
    });
    given == wanted
}

/// Returns the user's network with the names of its NICs as their ids, as in the result of [`canonical`].
fn by_names(network: &Mapping) -> Mapping {
    let mut network = network.clone();
    if let Some(Value::Mapping(nics)) = network.get_mut("ethernets") {
        let name = |nic: &Value| {
            let found = nic.get("match")?;
            let name = if found.get("macaddress").is_some() { nic.get("set-name") } else { found.get("name") };
            name.cloned()
        };
        *nics = nics.iter().map(|(id, nic)| (name(nic).unwrap_or_else(|| id.clone()), nic.clone())).collect();
    }
    network
}
