//! Which hosts the errors of an input are about, so that the errors of one host need not keep dayone from the others.

use std::collections::{BTreeMap, BTreeSet};

use super::host_part::HostPart;
use vocabulary::report::{DocumentPath, Report, Severity};

/// The maximum number of errors that each host gets.
const MAX_ERRORS: usize = 100;

/// The maximum number of errors that hosts with the same errors get together, but at least one each. Thousands of hosts may share a
/// Secret with thousands of errors.
const MAX_SHARED_ERRORS: usize = 20_000;

/// All hosts that the documents describe, and whether other errors concern all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Described {
    /// The hosts, in the order of their documents.
    pub hosts: Vec<DescribedHost>,
    /// Whether the report has an error that is not about a single host. Any host may be incomplete then.
    pub has_other_errors: bool,
}

/// A host that the documents describe, whether dayone can read it or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedHost {
    /// The host's name in the documents.
    pub name: Option<String>,
    /// Where the documents describe it, as in [`HostPaths::host`](vocabulary::host::HostPaths::host).
    pub path: DocumentPath,
    /// Whether its documents have errors, so that it gets no image. Hosts of a fleet share findings: this is also set for hosts
    /// without an error of their own.
    pub is_refused: bool,
    /// The indices of the first errors about it in the report of the input.
    pub errors: Vec<usize>,
}

/// What is known of a host before all findings are.
pub(super) struct Account {
    host: DescribedHost,
    /// Other places that are about it.
    places: Vec<DocumentPath>,
}

impl Account {
    /// Returns the account of a host, unless dayone skips it because no document has its network.
    pub(super) fn of(part: &HostPart) -> Option<Self> {
        let is_refused = part.is_flawed;
        let name = part.name().map(str::to_owned).or_else(|| part.hostname.as_ref().map(ToString::to_string));
        (is_refused || part.network.is_some()).then(|| Self {
            host: DescribedHost { name, path: part.path.clone(), is_refused, errors: Vec::new() },
            places: part.places.clone(),
        })
    }
}

impl Described {
    /// Finds the hosts of all errors in the report.
    pub(super) fn new(accounts: Vec<Account>, report: &Report) -> Self {
        let mut by_place: BTreeMap<&DocumentPath, BTreeSet<usize>> = BTreeMap::new();
        for (index, account) in accounts.iter().enumerate() {
            for place in account.places.iter().chain([&account.host.path]) {
                by_place.entry(place).or_default().insert(index);
            }
        }
        let mut errors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut of_places: BTreeMap<&&DocumentPath, usize> = BTreeMap::new();
        let mut has_other_errors = false;
        for (number, finding) in report.findings().iter().enumerate() {
            if finding.severity != Severity::Error {
                continue;
            }
            let Some((place, owners)) = finding.path.tops().find_map(|top| by_place.get_key_value(top)) else {
                has_other_errors = true;
                continue;
            };
            let known: &mut usize = of_places.entry(place).or_default();
            *known += 1;
            if *known <= MAX_ERRORS {
                let most = (MAX_SHARED_ERRORS / owners.len().max(1)).clamp(1, MAX_ERRORS);
                for owner in owners {
                    let own = errors.entry(*owner).or_default();
                    if own.len() < most {
                        own.push(number);
                    }
                }
            }
        }
        let mut hosts: Vec<DescribedHost> = accounts.into_iter().map(|account| account.host).collect();
        for (owner, errors) in errors {
            if let Some(host) = hosts.get_mut(owner) {
                (host.errors, host.is_refused) = (errors, true);
            }
        }
        Self { hosts, has_other_errors }
    }
}
