//! A document of a text.

use serde_yaml::Mapping;

use super::octals::{self, Octal};
use vocabulary::report::{DocumentPath, Report};

/// A document and where it stands.
pub(super) struct Document {
    pub(super) value: Mapping,
    /// `document 2`, `document 1: items[3]`.
    pub(super) position: DocumentPath,
    /// What other readers take for other numbers.
    pub(super) octals: Vec<Octal>,
}

impl Document {
    /// Reports the numbers that other readers take for others.
    pub(super) fn check_octals(&self, report: &mut Report) {
        octals::check(&self.value, &self.octals, &self.position, report);
    }
}
