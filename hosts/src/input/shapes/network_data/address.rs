//! Addresses, and network masks in all their notations.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_yaml::Value;

use super::members;
use crate::family::Family;
use crate::input::fields::Fields;
use crate::input::yaml::invalid;
use vocabulary::report::{DocumentPath, Report, Reported};

/// Returns an example of a network mask.
fn example(family: Family) -> &'static str {
    match family {
        Family::V4 => "255.255.255.0, or 24",
        Family::V6 => "ffff:ffff:ffff:ffff::, or 64",
    }
}

/// Parses the address at `key`, which must be of this family.
pub(in crate::input::shapes) fn address(
    fields: &Fields<'_>,
    key: &str,
    family: Family,
    code: &'static str,
    report: &mut Report,
) -> Result<Option<IpAddr>, Reported> {
    let Some(text) = fields.text(key, report)? else { return Ok(None) };
    let wrong = || format!("is {text:?}, which is not an {} address", family.name());
    family.parse(text).map(Some).ok_or_else(|| fields.wrong(key, code, wrong(), report))
}

/// An address with its network, or a network, with its path.
#[derive(Debug, Clone)]
pub(in crate::input::shapes) struct Placed {
    pub(in crate::input::shapes) network: IpNet,
    pub(in crate::input::shapes) path: DocumentPath,
    /// The path of the length of the prefix.
    pub(in crate::input::shapes) length_path: DocumentPath,
}

/// Reads the address at `key`. Its prefix length is behind a slash or at `netmask`.
pub(in crate::input::shapes) fn network(
    fields: &Fields<'_>,
    key: &str,
    family: Family,
    report: &mut Report,
) -> Result<Placed, Reported> {
    network_of(fields, key, family, None, report)
}

/// Reads the address at `key` of cloud-init's version 1, whose prefix length may also be at `prefix`.
pub(in crate::input::shapes) fn network_with_prefix(
    fields: &Fields<'_>,
    key: &str,
    family: Family,
    report: &mut Report,
) -> Result<Placed, Reported> {
    let prefix = members::number(fields, "prefix", 0..=u64::from(family.length()), report)?;
    network_of(fields, key, family, prefix.and_then(|length| u8::try_from(length).ok()), report)
}

fn network_of(
    fields: &Fields<'_>,
    key: &str,
    family: Family,
    prefix: Option<u8>,
    report: &mut Report,
) -> Result<Placed, Reported> {
    let name = family.name();
    let Some(text) = fields.text(key, report)? else {
        return Err(fields.wrong(key, "member-missing", format!("is missing: write an {name} address here"), report));
    };
    let (address, own) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let invalid = format!("is {text:?}, which is not an {name} address");
    let own = own.map(|text| behind_slash(text, family));
    let (Some(address), false) = (family.parse(address), own == Some(None)) else {
        return Err(fields.wrong(key, "ip-address-invalid", invalid, report));
    };
    let mask = mask(fields, family, report)?;
    let path = fields.path.key(key);
    let lengths = [(own.flatten(), key), (prefix, "prefix"), (mask, "netmask")];
    let mut lengths = lengths.into_iter().filter_map(|(length, key)| Some((length?, key)));
    let (length, length_path) = match lengths.next() {
        Some((length, length_key)) => {
            if let Some((other, other_key)) = lengths.find(|(other, _)| *other != length) {
                let message = format!(
                    "stands for a prefix of {other} bits, and {length_key} says {length}; remove one of the two"
                );
                return Err(fields.wrong(other_key, "netmask-contradicts-prefix", message, report));
            }
            (length, fields.path.key(length_key))
        }
        // Only the unspecified address is a network without a mask: everything.
        None if key == "network" && address.is_unspecified() => (0, path.clone()),
        None => {
            let message = format!(
                "is missing: without it, dayone does not know the network (write for example {})",
                example(family)
            );
            return Err(fields.wrong("netmask", "netmask-missing", message, report));
        }
    };
    let network = IpNet::new(address, length).map_err(|_| fields.wrong(key, "ip-address-invalid", invalid, report))?;
    Ok(Placed { network, path, length_path })
}

/// Returns the prefix length at `netmask`.
fn mask(fields: &Fields<'_>, family: Family, report: &mut Report) -> Result<Option<u8>, Reported> {
    let length = match fields.mapping.get("netmask") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(Value::Number(number)) => number.as_u64().and_then(|length| u8::try_from(length).ok()),
        Some(Value::String(text)) => length(text, family),
        Some(other) => {
            invalid::check(other, &fields.path.key("netmask"), report)?;
            None
        }
    };
    length.filter(|length| *length <= family.length()).map(Some).ok_or_else(|| {
        let message =
            format!("is not an {} mask of ones followed by zeros, such as {}", family.name(), example(family));
        fields.wrong("netmask", "netmask-invalid", message, report)
    })
}

/// Parses what is behind the slash of an address: the length of its prefix, or for IPv4 a dotted mask. cloud-init reads both, with Python's
/// `ipaddress`, which has no other masks for IPv6.
fn behind_slash(text: &str, family: Family) -> Option<u8> {
    let mask = || family.parse(text).filter(IpAddr::is_ipv4).and_then(|mask| ipnet::ip_mask_to_prefix(mask).ok());
    text.parse().ok().or_else(mask).filter(|length| *length <= family.length())
}

/// Parses a mask: `24`, `/24`, `192.0.2.0/24`, `255.255.255.0` or `ffff:ffff::`.
fn length(text: &str, family: Family) -> Option<u8> {
    if let Some((network, length)) = text.split_once('/') {
        return (network.is_empty() || family.parse(network).is_some()).then(|| length.parse().ok())?;
    }
    if let Ok(length) = text.parse() {
        return Some(length);
    }
    ipnet::ip_mask_to_prefix(family.parse(text)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_read_in_every_form_and_must_have_no_holes() {
        for (text, expected) in [
            ("24", Some(24)),
            ("/24", Some(24)),
            ("192.0.2.0/24", Some(24)),
            ("255.255.255.0", Some(24)),
            ("0.0.0.0", Some(0)),
            ("255.255.255.255", Some(32)),
            ("255.255.0.255", None),
            ("255.0.255.0", None),
            ("0.0.0.255", None),
            ("ffff::", None),
            ("x/24", None),
            ("", None),
        ] {
            assert_eq!(length(text, Family::V4), expected, "{text}");
        }
        for (text, expected) in [
            ("64", Some(64)),
            ("::", Some(0)),
            ("::0", Some(0)),
            ("0::0", Some(0)),
            ("ffff:ffff:ffff:ffff::", Some(64)),
            ("ffff:ffff:ffff:fff8::", Some(61)),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some(128)),
            ("ffff:0:ffff::", None),
            ("255.255.255.0", None),
        ] {
            assert_eq!(length(text, Family::V6), expected, "{text}");
        }
    }

    #[test]
    fn a_dotted_mask_may_be_behind_the_slash_of_ipv4() {
        for (text, family, expected) in [
            ("24", Family::V4, Some(24)),
            ("255.255.255.0", Family::V4, Some(24)),
            ("0.0.0.0", Family::V4, Some(0)),
            ("33", Family::V4, None),
            ("255.0.255.0", Family::V4, None),
            ("/24", Family::V4, None),
            ("64", Family::V6, Some(64)),
            ("ffff:ffff::", Family::V6, None),
            ("255.255.255.0", Family::V6, None),
        ] {
            assert_eq!(behind_slash(text, family), expected, "{text}");
        }
    }
}
