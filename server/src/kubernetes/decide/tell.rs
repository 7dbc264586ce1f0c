//! What is told about an object as Events, once something happened.

use vocabulary::report::{Report, Severity};

use super::{ERROR, READY, reason};
use crate::kubernetes::resources::{Condition, PreprovisioningImageStatus};

/// How many findings of one report become Events.
const FINDINGS: usize = 10;
/// The API server takes no longer note.
const NOTE_BYTES: usize = 1024;

/// Something to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct Told {
    pub(in crate::kubernetes) warning: bool,
    pub(in crate::kubernetes) reason: &'static str,
    pub(in crate::kubernetes) note: String,
    pub(in crate::kubernetes) place: Option<Place>,
}

/// A place in a document that a Secret holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct Place {
    pub(in crate::kubernetes) secret: String,
    pub(in crate::kubernetes) path: String,
}

/// What is told when the one status took the place of the other.
pub(in crate::kubernetes) fn told(
    old: &PreprovisioningImageStatus,
    new: &PreprovisioningImageStatus,
    report: &Report,
) -> Vec<Told> {
    let mut all = Vec::new();
    let ready = |status: &PreprovisioningImageStatus| find(status, READY).is_some_and(Condition::is_true);
    if ready(new) && (!ready(old) || old.image_url != new.image_url) {
        let host = if new.architecture.is_empty() { "" } else { " for " };
        let note = format!("The image is ready: {}{host}{}", new.format, new.architecture);
        all.push(Told { warning: false, reason: "ImageReady", note, place: None });
        all.extend(findings(report, &new.network_data.name));
    }
    let error = find(new, ERROR).filter(|condition| condition.is_true());
    if let Some(error) = error {
        let before = find(old, ERROR).filter(|condition| condition.is_true());
        if before.is_none_or(|before| (&before.reason, &before.message) != (&error.reason, &error.message)) {
            let known = [reason::CONFIGURATION, reason::MISSING_NETWORK_DATA, reason::FORBIDDEN, reason::INVALID];
            let reason = known.into_iter().find(|known| *known == error.reason).unwrap_or(reason::INVALID);
            all.push(Told { warning: true, reason, note: bounded(&error.message), place: None });
        }
    }
    all
}

/// The warnings about what this Secret holds.
pub(in crate::kubernetes) fn findings(report: &Report, secret: &str) -> impl Iterator<Item = Told> {
    let warnings = report.findings().iter().filter(|finding| finding.severity == Severity::Warning);
    warnings.take(FINDINGS).map(|finding| Told {
        warning: true,
        reason: "NetworkDataFinding",
        note: bounded(&finding.to_string()),
        place: Some(Place { secret: secret.to_owned(), path: bounded(&finding.path.to_string()) }),
    })
}

fn find<'a>(status: &'a PreprovisioningImageStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|condition| condition.kind == kind)
}

/// What the API server takes of a note.
pub(in crate::kubernetes) fn bounded(note: &str) -> String {
    note.get(..note.floor_char_boundary(NOTE_BYTES)).unwrap_or_default().to_owned()
}
