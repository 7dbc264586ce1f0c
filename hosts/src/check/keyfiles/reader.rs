//! The values of a profile.

use std::borrow::Cow;

use crate::keyfile_format::GroupedKeys;
use crate::nmstate_document::quoted;
use vocabulary::report::{DocumentPath, Report};

/// Reads values of a profile; what cannot be read is reported where it stands.
pub(super) struct Reader<'k, 'a> {
    pub(super) keys: &'k GroupedKeys<'a>,
    pub(super) path: &'k DocumentPath,
}

impl<'a> Reader<'_, 'a> {
    pub(super) fn at(&self, group: &str, key: &str) -> DocumentPath {
        self.path.key(group).key(key)
    }

    pub(super) fn keys(&self) -> &GroupedKeys<'a> {
        self.keys
    }

    /// The text of a key; none where it is missing or cannot be read.
    pub(super) fn text(&self, group: &str, key: &str, report: &mut Report) -> Option<Cow<'a, str>> {
        let entry = self.keys.get(group, key)?;
        entry.text().map_err(|error| report.error("keyfile-syntax", &self.at(group, key), error.to_string())).ok()
    }

    /// A key that is true or false in the way of `GLib`, which knows no yes and no False.
    pub(super) fn flag(&self, group: &str, key: &str, report: &mut Report) -> Option<bool> {
        let text = self.text(group, key, report)?;
        match text.trim_end() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            other => {
                let message = format!("is {}, which NetworkManager ignores: write true or false", quoted(other));
                report.error("keyfile-value-invalid", &self.at(group, key), message);
                None
            }
        }
    }
}
