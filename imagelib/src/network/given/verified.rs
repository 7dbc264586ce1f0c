//! What NetworkManager does not take of a profile, where nothing else was said of it.

use super::newer;
use crate::network::keyfile_format::GroupedKeys;
use crate::network::verify::{self, Effect};
use crate::report::{DocumentPath, Report, Severity};

/// Reports what NetworkManager refuses or ignores in the profile at `path`.
pub(super) fn check(keys: &GroupedKeys<'_>, path: &DocumentPath, report: &mut Report) {
    for problem in verify::problems(keys) {
        let group = path.key(&problem.group);
        let at = problem.key.as_deref().map_or_else(|| group.clone(), |key| group.key(key));
        let is_said = report.findings().iter().any(|found| found.severity == Severity::Error && found.path == at);
        match problem.effect {
            _ if is_said => {}
            Effect::Refused => report.error("keyfile-refused", &at, problem.message),
            Effect::Ignored => report.error("keyfile-value-invalid", &at, problem.message),
            Effect::Dropped => report.warning("keyfile-value-unused", &at, problem.message),
        }
    }
    for group in keys.groups().iter().filter(|group| super::groups::is_group(group.name)) {
        for entry in group.entries() {
            if !verify::is_known_key(group.name, entry.key) && !newer::is_known_key(group.name, entry.key) {
                let message = "is no key that NetworkManager knows there, and is ignored";
                report.warning("keyfile-key-unknown", &path.key(group.name).key(entry.key), message);
            }
        }
    }
}
