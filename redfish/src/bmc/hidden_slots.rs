//! Collects sentences about slots that a BMC does not show.

use http::StatusCode;

use super::refusals::{cannot_be_read, is_about_one_resource};
use crate::RedfishError;

/// What a BMC does not show of its slots.
#[derive(Debug, Default)]
pub(super) struct HiddenSlots {
    /// How the BMC refused to show one slot or all slots.
    pub(super) refusal: Option<String>,
    /// Sentences about slots that the BMC has, or may have.
    pub(super) sentences: Vec<String>,
    /// Sentences about Managers that the BMC has, or may have. They may have slots.
    pub(super) managers: Vec<String>,
}

impl HiddenSlots {
    /// Adds a sentence about slots, here and to the notes.
    pub(super) fn add(&mut self, sentence: String, notes: &mut Vec<String>) {
        self.sentences.push(sentence.clone());
        notes.push(sentence);
    }

    /// Notes that the BMC does not show one slot or all slots. Returns any other error.
    pub(super) fn note(
        &mut self,
        path: &str,
        error: RedfishError,
        notes: &mut Vec<String>,
    ) -> Result<(), RedfishError> {
        if error.status() == Some(StatusCode::FORBIDDEN) {
            self.refusal.get_or_insert_with(|| error.to_string());
        } else if !is_about_one_resource(&error) {
            return Err(error);
        }
        let sentence = cannot_be_read(path, &error);
        if is_absent(&error) {
            notes.push(sentence);
        } else {
            self.add(sentence, notes);
        }
        Ok(())
    }

    /// Adds a sentence about Managers, here and to the notes.
    pub(super) fn add_managers(&mut self, sentence: String, notes: &mut Vec<String>) {
        self.managers.push(sentence.clone());
        notes.push(sentence);
    }

    /// Notes that the BMC does not show one Manager or all Managers.
    pub(super) fn note_managers(&mut self, sentence: String, error: &RedfishError, notes: &mut Vec<String>) {
        if is_absent(error) {
            notes.push(sentence);
        } else {
            self.add_managers(sentence, notes);
        }
    }
}

/// Whether the BMC does not have the resource: some BMCs link to resources that they do not have.
fn is_absent(error: &RedfishError) -> bool {
    matches!(error.status(), Some(StatusCode::NOT_FOUND | StatusCode::GONE))
}
