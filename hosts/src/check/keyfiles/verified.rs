//! What NetworkManager does not take of a profile, where nothing else was said of it.

use super::newer;
use crate::check::profile::groups;
use crate::check::profile::resolver::{TRUST_LOST, Trust};
use crate::check::profile::{self, Effect, SECRET_MISSING};
use crate::keyfile_format::GroupedKeys;
use vocabulary::report::{DocumentPath, Report, Severity};

/// Types and groups of which dayone checks each value, and not whether the values suit each other.
const NOT_VERIFIED: [&str; 17] = [
    "6lowpan",
    "802-11-olpc-mesh",
    "802-11-wireless",
    "802-11-wireless-security",
    "adsl",
    "bluetooth",
    "cdma",
    "geneve",
    "gsm",
    "ppp",
    "pppoe",
    "tc",
    "team",
    "team-port",
    "vpn",
    "wireguard",
    "wpan",
];

/// Reports what NetworkManager refuses or ignores in the profile at `path`.
pub(crate) fn check(keys: &GroupedKeys<'_>, path: &DocumentPath, report: &mut Report) {
    for problem in profile::problems(keys).into_iter().chain(profile::activation_problems(keys)) {
        let group = path.key(&problem.group);
        let at = problem.key.as_deref().map_or_else(|| group.clone(), |key| group.key(key));
        let is_said = report.findings().iter().any(|found| found.severity == Severity::Error && found.path == at);
        match problem.effect {
            _ if is_said => {}
            Effect::Refused => report.error("keyfile-refused", &at, problem.message),
            Effect::NotActivated => report.error(SECRET_MISSING, &at, problem.message),
            Effect::NotActivatedByLater => report.warning(SECRET_MISSING, &at, problem.message),
            Effect::Ignored => report.error("keyfile-value-invalid", &at, problem.message),
            Effect::Dropped => report.warning("keyfile-value-unused", &at, problem.message),
        }
    }
    if let Trust { asked: Some(family), is_refused: true } = Trust::of(keys) {
        report.warning("keyfile-value-unused", &path.key(family).key("dns-options"), TRUST_LOST);
    }
    let kind = keys.get("connection", "type").map(|entry| groups::canonical(entry.raw().trim_end()));
    let at_type =
        kind.filter(|kind| NOT_VERIFIED.contains(kind)).map(|kind| (kind, path.key("connection").key("type")));
    let mut names = keys.groups().iter().map(|group| group.name);
    let group = names.find(|name| NOT_VERIFIED.contains(&groups::canonical(name)));
    if let Some((kind, at)) = at_type.or_else(|| Some((groups::canonical(group?), path.key(group?)))) {
        let message = format!(
            "is {kind}, and dayone does not know everything that NetworkManager refuses in this type; try the profile \
             on a host"
        );
        report.warning("keyfile-not-verified", &at, message);
    }
    for group in keys.groups().iter().filter(|group| groups::is_group(group.name)) {
        for entry in group.entries() {
            if !profile::is_known_key(group.name, entry.key) && !newer::is_known_key(group.name, entry.key) {
                let message = "is not a key that NetworkManager knows there: it ignores the key";
                report.warning("keyfile-key-unknown", &path.key(group.name).key(entry.key), message);
            }
        }
    }
}
