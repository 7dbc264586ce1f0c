//! Remarks on boots. A remark that is true of many hosts is printed once; at the end, a line names the other hosts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::commands::boot_api::Boot;
use crate::commands::terminal::plain;
use crate::natural_order::natural_key;

/// How many hosts a repeated remark names.
const NAMED: usize = 8;

/// The remarks so far.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// How many remarks of each boot were printed, by its id.
    seen: BTreeMap<String, usize>,
    /// The printed remarks.
    remarks: Vec<PrintedRemark>,
}

#[derive(Debug)]
struct PrintedRemark {
    /// The remark without names and addresses.
    general: String,
    text: String,
    /// The ids of other boots with this remark, and the names of their hosts.
    others: BTreeMap<String, String>,
    /// The id of the first boot with this remark.
    first: String,
}

impl Remarks {
    /// Returns lines for the new remarks on a boot.
    pub(super) fn news(&mut self, boot: &Boot) -> String {
        let seen = self.seen.insert(boot.id.clone(), boot.remarks.len()).unwrap_or(0);
        let mut text = String::new();
        for remark in boot.remarks.iter().skip(seen) {
            let general = general(&remark.text, boot);
            match self.remarks.iter_mut().find(|printed| printed.general == general) {
                Some(printed) if printed.first == boot.id => {}
                Some(printed) => {
                    printed.others.insert(boot.id.clone(), plain(boot.name()));
                }
                None => {
                    // Writing to a String does not fail.
                    let _ = writeln!(text, "{}: {}", plain(boot.name()), plain(&remark.text));
                    let (text, first) = (plain(&remark.text), boot.id.clone());
                    self.remarks.push(PrintedRemark { general, text, others: BTreeMap::new(), first });
                }
            }
        }
        text
    }

    /// Returns lines for the remarks that are true of more than one host.
    pub(super) fn repeated(&self) -> String {
        let mut text = String::new();
        for remark in self.remarks.iter().filter(|remark| !remark.others.is_empty()) {
            let mut names: Vec<&str> = remark.others.values().map(String::as_str).collect();
            names.sort_by_key(|name| natural_key(name));
            let rest = names.len().saturating_sub(NAMED);
            names.truncate(NAMED);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let _ = writeln!(text, "{}{rest}, too: {}", names.join(", "), remark.text);
        }
        text
    }
}

/// Removes names and addresses, which differ from host to host, from a remark.
fn general(text: &str, boot: &Boot) -> String {
    let address = boot.bmc.address.as_str();
    let authority = address.split_once("://").map_or(address, |(_, rest)| rest.split('/').next().unwrap_or(rest));
    let mut general = text.replace(address, "BMC").replace(authority, "BMC");
    if let Some(host) = boot.host.as_deref().filter(|host| !host.is_empty()) {
        general = general.replace(host, "HOST");
    }
    general
}

#[cfg(test)]
mod tests;
