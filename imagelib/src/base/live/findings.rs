//! Warnings about live ISOs.

use super::defaults::describe_entry;
use super::{EntryView, LiveInitrd, LiveIso, NotCustomisable, paths};
use crate::delivery;
use vocabulary::report::{DocumentPath, Report};

impl LiveIso {
    /// Warnings about the ISO, whatever is added to it.
    pub fn report(&self) -> Report {
        let mut report = Report::new();
        if self.customised {
            let message = format!("cannot be customised: {}", NotCustomisable::Customised);
            report.warning("customised", &DocumentPath::document("base"), message);
        }
        for LiveInitrd { path, state, .. } in &self.initrds {
            let path = DocumentPath::document(path);
            match state {
                Ok(found) => report.append(delivery::report(found.detected.profile, &found.tree, None, &path)),
                Err(reason) => report.warning("initrd-unusable", &path, format!("cannot be extended: {reason}")),
            }
        }
        for (uki, usable, _) in self.usable_ukis() {
            let (detected, path) = (&usable.surveyed.detected, DocumentPath::document(&format!("/{}", uki.path)));
            report.append(delivery::report(detected.profile, &usable.surveyed.tree, None, &path));
        }
        report.append(unreached(self.entries()));
        report.append(unreached_paths(self));
        report
    }
}

/// A warning for each way to boot that dayone cannot change.
pub(crate) fn unreached_paths(live: &LiveIso) -> Report {
    let mut report = Report::new();
    for path in live.unreached_paths() {
        // Entries whose initrd is missing have their own finding.
        let default =
            path.default_of.map(|firmware| format!("; {firmware} machines start it by default")).unwrap_or_default();
        let message = format!("{}{default}", path.reason);
        report.warning("boot-path-unreached", &DocumentPath::document(&path.place), message);
    }
    report
}

/// A warning for each of these entries whose initramfs dayone did not find.
pub(crate) fn unreached<'a>(entries: impl Iterator<Item = EntryView<'a>>) -> Report {
    let mut report = Report::new();
    for view in entries.filter(|view| view.initrd.is_none()) {
        let path = DocumentPath::document(&describe_entry(view.configuration, view.entry));
        let message = format!(
            "{}: the system that it starts gets no network configuration",
            paths::not_found(view.entry, view.linux)
        );
        report.warning("boot-entry-unreached", &path, message);
    }
    report
}
