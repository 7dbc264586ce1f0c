//! Remarks on boots. What forty BMCs of one kind give rise to is said once, and at the end of whom else it is true.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::api::Boot;
use super::names::by_number;
use crate::commands::terminal::plain;

/// How many hosts a repeated remark names.
const NAMED: usize = 8;

/// The remarks so far.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// How many remarks of each boot were seen, by its id.
    seen: BTreeMap<String, usize>,
    /// Each remark as it was said first.
    said: Vec<Said>,
}

#[derive(Debug)]
struct Said {
    general: String,
    text: String,
    /// Ids and names of the others' boots.
    others: BTreeMap<String, String>,
    first: String,
}

impl Remarks {
    /// Lines for the remarks on a boot that nobody has made yet.
    pub(super) fn news(&mut self, boot: &Boot) -> String {
        let seen = self.seen.insert(boot.id.clone(), boot.remarks.len()).unwrap_or(0);
        let mut text = String::new();
        for remark in boot.remarks.iter().skip(seen) {
            let general = general(&remark.text, boot);
            match self.said.iter_mut().find(|said| said.general == general) {
                Some(said) if said.first == boot.id => {}
                Some(said) => {
                    said.others.insert(boot.id.clone(), plain(boot.name()));
                }
                None => {
                    // Writing to a String does not fail.
                    let _ = writeln!(text, "{}: {}", plain(boot.name()), plain(&remark.text));
                    let (text, first) = (plain(&remark.text), boot.id.clone());
                    self.said.push(Said { general, text, others: BTreeMap::new(), first });
                }
            }
        }
        text
    }

    /// Lines for the remarks that are true of more than one host.
    pub(super) fn repeated(&self) -> String {
        let mut text = String::new();
        for said in self.said.iter().filter(|said| !said.others.is_empty()) {
            let mut names: Vec<&str> = said.others.values().map(String::as_str).collect();
            names.sort_by_key(|name| by_number(name));
            let rest = names.len().saturating_sub(NAMED);
            names.truncate(NAMED);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let _ = writeln!(text, "{}{rest}, too: {}", names.join(", "), said.text);
        }
        text
    }
}

/// A remark without what differs from host to host: names and addresses.
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
