//! The Events about an object, after its image has been published or has failed.

use vocabulary::report::{Report, Severity};

use super::{ERROR, READY, reason};
use crate::kubernetes::resources::{Condition, PreprovisioningImageStatus};

/// How many findings of one report become Events.
const FINDINGS: usize = 10;
/// The API server's limit for the note of an Event.
const NOTE_BYTES: usize = 1024;

/// An Event about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct ObjectEvent {
    pub(in crate::kubernetes) warning: bool,
    pub(in crate::kubernetes) reason: &'static str,
    pub(in crate::kubernetes) note: String,
    pub(in crate::kubernetes) field: Option<SecretField>,
}

/// A place in a document that a Secret holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct SecretField {
    pub(in crate::kubernetes) secret: String,
    pub(in crate::kubernetes) path: String,
}

impl ObjectEvent {
    pub(in crate::kubernetes) fn normal(reason: &'static str, note: String) -> Self {
        Self { warning: false, reason, note, field: None }
    }

    pub(in crate::kubernetes) fn warning(reason: &'static str, note: &str) -> Self {
        Self { warning: true, reason, note: bounded(note), field: None }
    }
}

/// The Events to publish when the status `new` has replaced the status `old`.
pub(in crate::kubernetes) fn status_events(
    old: &PreprovisioningImageStatus,
    new: &PreprovisioningImageStatus,
    report: Option<&Report>,
) -> Vec<ObjectEvent> {
    let mut events = Vec::new();
    let ready = |status: &PreprovisioningImageStatus| status.condition(READY).is_some_and(Condition::is_true);
    if ready(new) && (!ready(old) || old.image_url != new.image_url) {
        let host = if new.architecture.is_empty() { "" } else { " for " };
        let note = format!("The image is ready: {}{host}{}", new.format, new.architecture);
        events.push(ObjectEvent::normal("ImageReady", note));
        events.extend(report.into_iter().flat_map(|report| finding_events(report, &new.network_data.name)));
    }
    let error_of =
        |status| PreprovisioningImageStatus::condition(status, ERROR).filter(|condition| condition.is_true());
    if let Some(error) = error_of(new)
        && error_of(old).is_none_or(|old| (&old.reason, &old.message) != (&error.reason, &error.message))
    {
        let known = [reason::CONFIGURATION, reason::MISSING_NETWORK_DATA, reason::FORBIDDEN, reason::INVALID];
        let reason = known.into_iter().find(|known| *known == error.reason).unwrap_or(reason::INVALID);
        events.push(ObjectEvent::warning(reason, &error.message));
    }
    events
}

/// The warnings about the content of this Secret.
pub(in crate::kubernetes) fn finding_events(report: &Report, secret: &str) -> impl Iterator<Item = ObjectEvent> {
    let warnings = report.findings().iter().filter(|finding| finding.severity == Severity::Warning);
    warnings.take(FINDINGS).map(|finding| ObjectEvent {
        field: Some(SecretField { secret: secret.to_owned(), path: bounded(&finding.path.to_string()) }),
        ..ObjectEvent::warning("NetworkDataFinding", &finding.to_string())
    })
}

/// Shortens a text to what the API server accepts as a note.
fn bounded(note: &str) -> String {
    note.get(..note.floor_char_boundary(NOTE_BYTES)).unwrap_or_default().to_owned()
}
