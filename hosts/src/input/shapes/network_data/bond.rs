//! Bonds: `bond_mode`, `bond_links`, and options, whose keys are `bond_` and the kernel's name.

use nmstate::BondOptions;
use serde::Deserialize;
use serde_yaml::{Mapping, Value};

use super::members;
use crate::input::fields::Fields;
use crate::input::listing::quoted;
use crate::input::yaml::invalid;
use crate::model::BOND_MODES;
use vocabulary::report::{DocumentPath, Report, Reported};

/// A bond.
#[derive(Debug)]
pub(super) struct Bond<'a> {
    pub(super) mode: String,
    /// The ids of its ports, with their paths.
    pub(super) ports: Vec<(&'a str, DocumentPath)>,
    /// The options: NMState's name, the value and its path.
    pub(super) options: Vec<(String, &'a Value, DocumentPath)>,
}

impl Bond<'_> {
    /// Whether the bond has the MAC address of a port, and the kernel sets no other.
    pub(super) fn has_address_of_port(&self) -> bool {
        let of_port = |value: &Value| {
            matches!(value.as_str(), Some("active" | "1" | "follow" | "2")) || matches!(value.as_u64(), Some(1 | 2))
        };
        self.mode == "active-backup"
            && self.options.iter().any(|(name, value, _)| name == "fail_over_mac" && of_port(value))
    }
}

/// The name for `802.3ad` in the schemas of nova and ironic: a mistake, which documents must repeat to be valid.
const SCHEMAS_802_3AD: &str = "802.1ad";

/// Reads the members of a bond that other links do not have.
pub(super) fn read<'a>(fields: &Fields<'a>, report: &mut Report) -> Result<Bond<'a>, Reported> {
    let mode = mode(fields, report);
    let ports = members::texts(fields, "bond_links", report);
    let is_empty = |links: &Value| links.is_null() || links.as_sequence().is_some_and(Vec::is_empty);
    if fields.mapping.get("bond_links").is_none_or(is_empty) {
        let message = "is missing or empty: a bond without links has no NIC to send by";
        return Err(fields.wrong("bond_links", "member-missing", message, report));
    }
    let mut options = Vec::new();
    for (key, value) in fields.mapping {
        let Some(key) = key.as_str() else { continue };
        let Some(option) = option_name(key) else { continue };
        let path = fields.path.key(key);
        let is_empty = value.is_null() || value.as_str() == Some("");
        if matches!(key, "bond_mode" | "bond_links") || is_empty {
            continue;
        }
        if is_known_to_nmstate(&option) {
            invalid::check(value, &path, report)?;
            options.push((option, value, path));
        } else {
            let message = format!("is not used: NMState knows no bond option {}", quoted(option.as_str()));
            report.warning("bond-option-unknown", &path, message);
        }
    }
    Ok(Bond { mode: mode?, ports, options })
}

/// Whether NMState knows the option: the nmstate crate refuses others, whatever their values.
pub(in crate::input::shapes) fn is_known_to_nmstate(option: &str) -> bool {
    let options = Mapping::from_iter([(option.into(), Value::Null)]);
    let read = BondOptions::deserialize(Value::Mapping(options));
    read.map_or_else(|error| !error.to_string().contains("unknown field"), |_| true)
}

/// Returns the option that a member sets. cloud-init reads hyphens, too.
pub(in crate::input::shapes) fn option_name(key: &str) -> Option<String> {
    Some(key.strip_prefix("bond_").or_else(|| key.strip_prefix("bond-"))?.replace('-', "_"))
}

fn mode(fields: &Fields<'_>, report: &mut Report) -> Result<String, Reported> {
    let found = match fields.mapping.get("bond_mode") {
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => fields.text("bond_mode", report)?.map(str::to_owned),
    };
    let known = || format!("use one of {}", BOND_MODES.join(", "));
    let Some(found) = found else {
        return Err(fields.wrong("bond_mode", "member-missing", format!("is missing; {}", known()), report));
    };
    if found == SCHEMAS_802_3AD {
        let message = "is 802.1ad, which dayone reads as 802.3ad: OpenStack's schema misspells it, and no bond mode \
                       is 802.1ad";
        report.warning("bond-mode-misspelt", &fields.path.key("bond_mode"), message);
        return Ok("802.3ad".to_owned());
    }
    let by_number = found.parse().ok().and_then(|number: usize| BOND_MODES.get(number));
    if let Some(mode) = by_number.or_else(|| BOND_MODES.iter().find(|mode| **mode == found)) {
        return Ok((*mode).to_owned());
    }
    let message = format!("is {found:?}, which is not a bond mode; {}", known());
    Err(fields.wrong("bond_mode", "bond-mode-unknown", message, report))
}
