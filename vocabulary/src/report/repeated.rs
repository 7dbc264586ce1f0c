//! What is said of many hosts of a fleet, and is one mistake in what they have in common.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Finding, Report, Severity, Step};

/// What findings that say the same have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_error: bool,
    code: &'static str,
    /// Behind the host.
    way: Vec<Step>,
    message: String,
}

/// How many of the other hosts are named.
const NAMED: usize = 8;

/// A finding, and the other hosts of which the same is to be said.
struct Others {
    finding: usize,
    count: usize,
    /// The first of them.
    names: Vec<String>,
}

/// Findings about hosts of fleets: the first of each kind, and how many more say the same.
#[derive(Default)]
pub struct Repeated {
    seen: BTreeMap<Key, Others>,
}

impl Repeated {
    /// Adds the findings of `from` to `into`, but for those that say of another host of a fleet what one in `into` says of
    /// the first. Whether any error was added.
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
            }
            any |= finding.severity == Severity::Error;
            into.findings.push(finding);
        }
        any
    }

    /// Says in `report`, to which the findings were added, how many hosts each is about.
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

/// What a finding says, and of which host; none where that is not one of a fleet: `HostFleet/rack (worker-0, hosts.csv line
/// 2): spec.template…`.
fn key(finding: &Finding) -> Option<(Key, String)> {
    let (host, name) = finding.path.tops().find_map(|top| Some((top, top.last()?.as_row()?)))?;
    let key = Key {
        is_error: finding.severity == Severity::Error,
        code: finding.code,
        way: finding.path.steps_from(host)?.into_iter().cloned().collect(),
        // Places in the host's own document.
        message: finding.message.replace(&host.subject(), ""),
    };
    Some((key, name.to_owned()))
}
