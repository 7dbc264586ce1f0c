//! What the user should know about a live ISO before a host boots from an image of it.

use super::{EntryView, LiveInitrd, LiveIso, NotCustomisable};
use crate::delivery;
use crate::report::{DocumentPath, Report};

impl LiveIso {
    /// What the user should know about it, whatever is delivered.
    pub fn report(&self) -> Report {
        let mut report = Report::new();
        if self.customised {
            let message = format!("cannot be customised: {}", NotCustomisable::Customised);
            report.warning("customised", &DocumentPath::document("base"), message);
        }
        for LiveInitrd { path, state, .. } in &self.initrds {
            let path = DocumentPath::document(path);
            match state {
                Ok(found) => report.append(delivery::report(found.detected.profile, &found.tree, &path)),
                Err(reason) => report.warning("initrd-unusable", &path, format!("cannot be extended: {reason}")),
            }
        }
        report.append(unreached(self.entries()));
        report
    }
}

/// Of these entries, those whose system gets nothing because its initramfs was not found.
pub(crate) fn unreached<'a>(entries: impl Iterator<Item = EntryView<'a>>) -> Report {
    let mut report = Report::new();
    for view in entries.filter(|view| view.initrd.is_none()) {
        let path =
            DocumentPath::document(&format!("boot entry {:?} of {}", view.entry.title, view.configuration.path()));
        let message = format!(
            "loads {}, which was not found on the ISO: what it starts gets no network configuration",
            view.linux.initrds.join(" ")
        );
        report.warning("boot-entry-unreached", &path, message);
    }
    report
}
