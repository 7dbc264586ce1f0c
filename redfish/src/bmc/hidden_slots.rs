//! Notes the slots that a BMC does not show.

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
}

impl HiddenSlots {
    /// Adds a sentence, also to the notes.
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
        // Some BMCs link to slots that they do not have.
        if matches!(error.status(), Some(StatusCode::NOT_FOUND | StatusCode::GONE)) {
            notes.push(sentence);
        } else {
            self.add(sentence, notes);
        }
        Ok(())
    }
}
