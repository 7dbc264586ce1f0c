//! Compares what an autoinstall file says of the network with the host's documents.

use serde_yaml::{Mapping, Value};

use super::NETWORK;
use crate::input;
use crate::network::{NetworkFiles, Target, convert_network};
use vocabulary::host::HostName;
use vocabulary::report::{DocumentPath, Report, Reported};

const CODE: &str = "answers-contradict-network";
const FIX: &str = "remove it, and dayone writes it, or correct the one that is wrong";

/// Members that netplan has defaults for, which depend on the release, and which few files have.
const UNSAID: [&str; 3] = ["accept-ra", "dhcp6", "link-local"];

/// Checks the host name of the installed system, if both have one.
pub(super) fn check_hostname(
    answers: &Mapping,
    hostname: Option<&HostName>,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<(), Reported> {
    let given = answers.get("identity").and_then(|identity| identity.get("hostname"));
    let (Some(given), Some(wanted)) = (given.and_then(Value::as_str), hostname) else { return Ok(()) };
    if given == wanted.as_str() {
        return Ok(());
    }
    let message =
        format!("is {given:?}, and the host's documents have {:?}; correct the one that is wrong", wanted.as_str());
    Err(report.refuse(CODE, &path.key("identity").key("hostname"), message))
}

/// Checks that the installer reads the MAC addresses of the network as text. It reads YAML 1.1, in which one of decimal digits is a number to
/// base 60; netplan itself does not.
pub(super) fn check_mac_addresses(text: &str, path: &DocumentPath, report: &mut Report) -> Result<(), Reported> {
    // PyYAML's numbers (`yaml/resolver.py`) that have the form of a MAC address.
    let is_number = |text: &str| {
        let groups: Vec<&[u8]> = text.split(':').map(str::as_bytes).collect();
        matches!(groups.as_slice(), [[b'1'..=b'9', b'0'..=b'9'], others @ ..]
            if others.len() == 5 && others.iter().all(|group| matches!(group, [b'0'..=b'5', b'0'..=b'9'])))
    };
    match input::lines_with_plain(text, NETWORK, is_number).first() {
        None => Ok(()),
        Some(line) => {
            let message = format!(
                "line {line} has a MAC address without quotes, which the installer reads as a number to base 60 (YAML 1.1); write it in quotes"
            );
            Err(report.refuse("answers-invalid", path, message))
        }
    }
}

/// Checks a network of the user's own: it must be the one that dayone would write.
pub(super) fn check_network(
    network: &Value,
    wanted: &Value,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<(), Reported> {
    // The first release wanted the member twice.
    let inner = network.get(NETWORK).unwrap_or(network);
    let Some(given) = canonical(inner) else {
        let message = format!("has something that dayone cannot compare with the host's documents; {FIX}");
        return Err(report.refuse(CODE, path, message));
    };
    match difference(&given, wanted, inner, path) {
        None => Ok(()),
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

/// Returns a network as dayone writes it.
fn canonical(network: &Value) -> Option<Value> {
    let text = serde_yaml::to_string(&Mapping::from_iter([(NETWORK.into(), network.clone())])).ok()?;
    let input = input::read(text.as_bytes());
    let [host] = input.hosts.as_slice() else { return None };
    let target = Target { files: NetworkFiles::NetworkConfig, ..Target::default() };
    let (converted, _) = convert_network(host, target);
    serde_yaml::from_str(&converted?.network_data?).ok()
}

/// The first place at which two networks differ, and what is there. What the user has left to netplan differs from nothing.
fn difference(
    given: &Value,
    wanted: &Value,
    written: &Value,
    path: &DocumentPath,
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
            (Some(given), Some(wanted)) => {
                difference(given, wanted, written.get(key).unwrap_or(&nothing), &path.key(name))
            }
            (given, wanted) => Some((path.key(name), given.cloned(), wanted.cloned())),
        }
    })
}
