//! Users' own keyfiles: what NetworkManager refuses, and what it ignores with a line in a log that nobody reads.
//!
//! Sources: `nm-settings-keyfile(5)`, `nm-settings(5)`; and libnm 1.42, which the acceptance tests ask about each rule.

mod ip;
mod newer;
mod profile;
mod reader;
mod together;
mod verified;

use crate::check::release::Release;
use crate::keyfile_format::GroupedKeys;
use vocabulary::host::KeyfileDocument;
use vocabulary::report::{DocumentPath, Report};

/// Checks one of them by itself, for a release of NetworkManager.
pub(crate) fn one(keys: &GroupedKeys<'_>, release: Release, path: &DocumentPath, report: &mut Report) {
    profile::check(keys, path, report);
    newer::check(keys, release, path, report);
    verified::check(keys, path, report);
}

/// Checks all of a host against each other.
pub(crate) fn together(profiles: &[(&KeyfileDocument, GroupedKeys<'_>)], report: &mut Report) {
    together::check(profiles, report);
}
