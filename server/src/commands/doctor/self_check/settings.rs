//! The settings, and what they name.

use doctor::{Examination, Finding, Severity};

use crate::settings::check::check;
use crate::settings::{Loaded, Problem};

/// Examines what `dayone config check` examines: files of bases, certificates, tokens, permissions.
pub(super) fn examine(loaded: &Loaded) -> Examination {
    let findings = check(loaded).into_iter().map(finding).collect();
    Examination::new("settings", "settings and the files that they name", findings)
}

fn finding(problem: Problem) -> Finding {
    let severity = if problem.is_error() { Severity::Fails } else { Severity::Warning };
    let Problem { code, place, message, fix, .. } = problem;
    Finding::local(severity, code, format!("{place}: {message}")).advice(fix)
}
