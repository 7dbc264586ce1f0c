//! What is said of many hosts of a fleet, and is one mistake in what they have in common.

use std::collections::BTreeMap;

use super::{Finding, Report, Severity};

/// What findings that say the same have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_error: bool,
    code: &'static str,
    /// Behind the host.
    way: String,
    message: String,
}

/// Findings about hosts of fleets: the first of each kind, and how many more say the same.
#[derive(Default)]
pub(crate) struct Repeated {
    seen: BTreeMap<Key, (usize, usize)>,
}

impl Repeated {
    /// Adds the findings of `from` to `into`, but for those that say of another host of a fleet what one in `into` says of
    /// the first. Whether any error was added.
    pub(crate) fn add(&mut self, into: &mut Report, mut from: Report) -> bool {
        into.names.append(&mut from.names);
        let mut any = false;
        for finding in from.findings {
            let index = into.findings.len();
            if let Some(key) = key(&finding) {
                let (_, more) = *self.seen.entry(key).and_modify(|(_, more)| *more += 1).or_insert((index, 0));
                if more > 0 {
                    continue;
                }
            }
            any |= finding.severity == Severity::Error;
            into.findings.push(finding);
        }
        any
    }

    /// Says in `report`, to which the findings were added, how many hosts each is about.
    pub(crate) fn count(self, report: &mut Report) {
        for (index, more) in self.seen.into_values().filter(|(_, more)| *more > 0) {
            if let Some(finding) = report.findings.get_mut(index) {
                let hosts = if more == 1 { "host" } else { "hosts" };
                finding.message = format!("{}; the same for {more} more {hosts} of the fleet", finding.message);
            }
        }
    }
}

/// None where the finding is not about a host of a fleet: `HostFleet/rack (worker-0, hosts.csv line 2): spec.template…`.
fn key(finding: &Finding) -> Option<Key> {
    let path = finding.path.as_subject();
    let end = path.strip_prefix("HostFleet/").and_then(|_| path.find("):"))?;
    let (host, way) = path.split_at_checked(end + 2)?;
    path.get(..end)?.find(" (")?;
    Some(Key {
        is_error: finding.severity == Severity::Error,
        code: finding.code,
        way: way.to_owned(),
        // Places in the host's own document.
        message: finding.message.replace(host, ""),
    })
}
