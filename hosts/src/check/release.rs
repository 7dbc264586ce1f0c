//! The release of NetworkManager that is to read the profiles, and what it makes of what is newer than itself.

use std::fmt;

use vocabulary::network_files::NetworkManagerVersion;
use vocabulary::report::{DocumentPath, Report, Severity};

/// The code of findings about what a release of NetworkManager lacks.
pub(crate) const NEEDS_NEWER: &str = "needs-newer-networkmanager";

/// The release that a network is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    version: NetworkManagerVersion,
    /// Otherwise it is assumed.
    known: bool,
}

impl Release {
    /// The release where it is known, else one that is assumed.
    pub(crate) fn of(known: Option<NetworkManagerVersion>) -> Self {
        Self { version: known.unwrap_or(NetworkManagerVersion::ASSUMED), known: known.is_some() }
    }

    /// Whether this release lacks what came with `since`.
    pub(crate) fn lacks(self, since: Since) -> bool {
        let carried_back =
            since.carried_back.is_some_and(|back| self.version.is_in_series_of(back) && self.version >= back);
        self.version < since.release && !carried_back
    }

    /// Reports that the setting at `at` needs a later release, and what this one does with it.
    pub(crate) fn report(self, since: Since, effect: Effect, at: &DocumentPath, report: &mut Report) {
        // What is only assumed must not keep anybody from building an image.
        let severity = if self.known && effect == Effect::Refused { Severity::Error } else { Severity::Warning };
        let series = since.release.series();
        let message = if self.known {
            format!("needs NetworkManager {series} or later: the host has {}, which {effect}", self.version)
        } else {
            format!("needs NetworkManager {series} or later: {}, which dayone assumes, {effect}", self.version.series())
        };
        report.add(severity, NEEDS_NEWER, at, message);
    }

    /// Reports a release that is older than dayone knows.
    pub(crate) fn check(self, report: &mut Report) {
        if self.version < NetworkManagerVersion::OLDEST_KNOWN {
            let oldest = NetworkManagerVersion::OLDEST_KNOWN.series();
            let message = format!(
                "the host's NetworkManager, {}, is older than {oldest}: dayone does not know what it lacks compared \
                 with {oldest}",
                self.version
            );
            report.warning("networkmanager-too-old", &DocumentPath::root(), message);
        }
    }
}

/// Since when NetworkManager has something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Since {
    release: NetworkManagerVersion,
    /// The release of an older series that has it, too, as have all later ones of that series.
    carried_back: Option<NetworkManagerVersion>,
}

impl Since {
    /// Since `1.minor`.
    pub(crate) const fn new(minor: u16) -> Self {
        Self { release: NetworkManagerVersion::new(1, minor, 0), carried_back: None }
    }

    /// Since `1.minor`, and in the series `1.series` since `1.series.micro`.
    pub(crate) const fn carried_back(minor: u16, series: u16, micro: u16) -> Self {
        Self { carried_back: Some(NetworkManagerVersion::new(1, series, micro)), ..Self::new(minor) }
    }
}

/// What a release does with something that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It takes the profile, without it.
    Ignored,
    /// It does not take the profile, and the interface stays without configuration.
    Refused,
    /// It takes the profile, and does something else, in words that follow "which".
    Does(&'static str),
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ignored => "ignores it",
            Self::Refused => "refuses the whole profile",
            Self::Does(what) => what,
        })
    }
}

/// What happens to a routing rule with an unknown part.
pub(crate) const NO_RULE: Effect = Effect::Does("leaves the rule out");

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(release: &str, since: Since) -> bool {
        Release::of(Some(release.parse().unwrap())).lacks(since)
    }

    #[test]
    fn a_release_has_what_came_with_it_or_was_carried_back_to_it() {
        let prio = Since::carried_back(44, 42, 8);
        for (release, wanted) in
            [("1.30.6", true), ("1.42.4", true), ("1.42.8", false), ("1.43.2", true), ("1.44.0", false), ("2.0", false)]
        {
            assert_eq!(lacks(release, prio), wanted, "{release}");
        }
        assert!(lacks("1.42.8", Since::new(44)) && !lacks("1.44", Since::new(44)));
        assert!(Release::of(None).lacks(prio) && !Release::of(None).lacks(Since::new(42)));
    }

    #[test]
    fn findings_say_what_is_needed_what_is_there_and_what_it_does() {
        let said = |release: Option<&str>, effect| {
            let mut report = Report::new();
            let release = Release::of(release.map(|text| text.parse().unwrap()));
            release.report(Since::new(52), effect, &DocumentPath::document("x"), &mut report);
            let finding = &report.findings()[0];
            format!("{}: {finding}", finding.severity)
        };
        let needs = "x: needs NetworkManager 1.52 or later";
        assert_eq!(
            said(Some("1:1.46.2-1.fc40"), Effect::Ignored),
            format!("warning: {needs}: the host has 1.46.2, which ignores it")
        );
        assert_eq!(
            said(Some("1.46.2"), Effect::Refused),
            format!("error: {needs}: the host has 1.46.2, which refuses the whole profile")
        );
        assert_eq!(
            said(Some("1.30"), NO_RULE),
            format!("warning: {needs}: the host has 1.30.0, which leaves the rule out")
        );
        assert_eq!(
            said(None, Effect::Refused),
            format!("warning: {needs}: 1.42, which dayone assumes, refuses the whole profile")
        );
    }

    #[test]
    fn of_releases_before_1_30_there_is_one_warning() {
        for (release, count) in [(None, 0), (Some("1.30.0"), 0), (Some("1.28.0"), 1)] {
            let mut report = Report::new();
            Release::of(release.map(|text| text.parse().unwrap())).check(&mut report);
            assert_eq!(report.findings().len(), count, "{release:?}");
        }
    }
}
