//! Findings that many hosts share, because the mistake is in the template of their fleet, or in a Secret that all of them name.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::{DocumentPath, Finding, Report, Severity, Step};

/// What equal findings have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_error: bool,
    code: &'static str,
    /// The path below the host.
    steps: Vec<Step>,
    message: String,
}

/// How many of the other hosts a finding names.
const NAMED: usize = 8;

/// The other hosts with the same finding.
struct Others {
    /// The index of the first host's finding.
    finding: usize,
    count: usize,
    /// The names of the first of them.
    names: Vec<String>,
}

/// Keeps the first of equal findings about hosts of a fleet, and counts the others. Of equal findings at one place, it keeps the first.
#[derive(Default)]
pub struct Repeated {
    seen: BTreeMap<Key, Others>,
    /// The findings that are not about a host of a fleet.
    places: BTreeSet<(DocumentPath, Severity, &'static str, String)>,
}

impl Repeated {
    /// Moves the findings of `from` to `into`, except those that `into` already has for another host of the fleet, or at the same place.
    /// Returns whether it added an error.
    pub fn add(&mut self, into: &mut Report, mut from: Report) -> bool {
        into.names.append(&mut from.names);
        let mut any = false;
        for finding in from.findings {
            let index = into.findings.len();
            if let Some((key, host)) = key(&finding) {
                match self.seen.entry(key) {
                    Entry::Vacant(entry) => drop(entry.insert(Others { finding: index, count: 0, names: Vec::new() })),
                    Entry::Occupied(mut entry) => {
                        let others = entry.get_mut();
                        others.count += 1;
                        if others.names.len() < NAMED {
                            others.names.push(host);
                        }
                        continue;
                    }
                }
            } else if !self.is_first_at_place(&finding) {
                continue;
            }
            any |= finding.severity == Severity::Error;
            into.findings.push(finding);
        }
        any
    }

    /// Moves the findings of `from` to `into`, except those that `into` already has at the same place. Keeps all findings about hosts of
    /// fleets.
    pub fn add_of_places(&mut self, into: &mut Report, mut from: Report) {
        into.names.append(&mut from.names);
        from.findings.retain(|finding| host_of(&finding.path).is_some() || self.is_first_at_place(finding));
        into.findings.append(&mut from.findings);
    }

    fn is_first_at_place(&mut self, finding: &Finding) -> bool {
        let Finding { path, severity, code, message, .. } = finding;
        self.places.insert((path.clone(), *severity, *code, message.clone()))
    }

    /// Adds to the findings in `report` how many other hosts they apply to.
    pub fn count(self, report: &mut Report) {
        for Others { finding, count, names } in self.seen.into_values().filter(|others| others.count > 0) {
            if let Some(finding) = report.findings.get_mut(finding) {
                let hosts = if count == 1 { "host" } else { "hosts" };
                let further = if count > names.len() { ", …" } else { "" };
                let names = names.join(", ");
                finding.message =
                    format!("{}; the same for {count} more {hosts} of the fleet: {names}{further}", finding.message);
            }
        }
    }
}

/// Splits a finding into its key and the name of its host, if its path is that of a host of a fleet, such as
/// `HostFleet/rack (worker-0, hosts.csv line 2): spec.template`.
fn key(finding: &Finding) -> Option<(Key, String)> {
    let (host, name) = host_of(&finding.path)?;
    let key = Key {
        is_error: finding.severity == Severity::Error,
        code: finding.code,
        steps: finding.path.steps_from(host)?.into_iter().cloned().collect(),
        // The message may name other places in the host's document.
        message: finding.message.replace(&host.subject(), ""),
    };
    Some((key, name.to_owned()))
}

/// Returns the path of the fleet's host that contains a path, and the name of the host.
fn host_of(path: &DocumentPath) -> Option<(&DocumentPath, &str)> {
    path.tops().find_map(|top| Some((top, top.last()?.as_row()?)))
}
