//! Users' own keyfiles, which go into the image unchanged, byte by byte.
//!
//! dayone checks what is certain: what NetworkManager refuses, and what it ignores with a line in a log that nobody reads.
//! Sources: `nm-settings-keyfile(5)`, `nm-settings(5)`; and libnm 1.42, which the acceptance tests ask about each rule.

#[cfg(test)]
mod tests;

use super::{Attempt, ConvertedNetwork, Keyfile, NetworkFiles};
use crate::check::release::Release;
use crate::check::{self, CheckedHost, keyfiles};
use crate::keyfile_format::GroupedKeys;
use crate::model::Topology;
use vocabulary::host::{HostSpec, KeyfileDocument};
use vocabulary::report::{LineColumn, Report};

/// Takes the user's keyfiles as the host's network. There is one exactly when the report has no errors; otherwise there is
/// the topology, if dayone could read it.
pub(super) fn convert(
    host: &HostSpec,
    documents: &[KeyfileDocument],
    release: Release,
) -> (Attempt<ConvertedNetwork>, Report) {
    let mut report = Report::new();
    let mut named = Vec::with_capacity(documents.len());
    let mut profiles = Vec::with_capacity(documents.len());
    for document in documents {
        match document.name.parse() {
            Ok(name) => named.push(Keyfile { name, content: document.content.clone() }),
            Err(error) => report.error("keyfile-name-invalid", &document.path, format!("is refused: {error}")),
        }
        match GroupedKeys::parse(&document.content) {
            Ok(keys) => {
                keyfiles::one(&keys, release, &document.path, &mut report);
                profiles.push((document, keys));
            }
            Err(error) => {
                let at = LineColumn { line: error.line, column: 1 };
                report.error_in_text("keyfile-syntax", &document.path, error.to_string(), Some(at));
            }
        }
    }
    keyfiles::together(&profiles, &mut report);
    if named.is_empty() && !report.has_errors() {
        let message = "yields no profile at all: the host would come up without a network";
        report.error("no-keyfiles", &host.network.path(), message);
    }
    if report.has_errors() {
        return (Err(None), report);
    }
    named.sort();
    let contents = documents.iter().map(|document| (document.path.clone(), document.content.as_str()));
    let topology = Topology::from_profiles(contents, host.hostname.as_ref());
    check::host(CheckedHost { host, topology: &topology }, NetworkFiles::Keyfiles, &mut report);
    if report.has_errors() {
        return (Err(Some(Box::new(topology))), report);
    }
    let hostname = host.hostname.clone();
    (Ok(ConvertedNetwork { keyfiles: named, hostname, topology, ..ConvertedNetwork::default() }), report)
}
