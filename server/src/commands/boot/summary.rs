//! Describes the state of a boot in text. The live view, the lines and the outcomes use the same text.

use std::fmt::Write as _;

use crate::commands::boot_api::{Boot, Step};

/// The states, in the order of the total.
const STATES: [&str; 8] = ["booted", "failed", "unknown", "running", "ejecting", "ejected", "forgotten", "queued"];

/// Describes the current state of a boot.
pub(in crate::commands) fn now(boot: &Boot) -> String {
    if let Some(last) = boot.steps.iter().find(|step| matches!(step.state.as_str(), "failed" | "unknown")) {
        return step(last);
    }
    match boot.steps.iter().find(|step| step.state == "running") {
        Some(step) => match &boot.progress {
            Some(progress) => format!("{}: {progress}", step.name),
            None => step.name.clone(),
        },
        None => boot.state.clone(),
    }
}

/// Describes the state and the result of a step.
pub(in crate::commands) fn step(step: &Step) -> String {
    let mut text = format!("{} {}", step.name, step.state);
    if let Some(seconds) = step.seconds.filter(|seconds| *seconds >= 0.1) {
        // Writing to a String does not fail.
        let _ = write!(text, " ({seconds:.1} s)");
    }
    if let Some(result) = step.error.as_ref().or(step.detail.as_ref()) {
        let _ = write!(text, ": {result}");
    }
    text
}

/// Counts the hosts in each state.
pub(in crate::commands) fn total<'a>(states: impl Iterator<Item = &'a str>) -> String {
    let states: Vec<&str> = states.collect();
    let counts = STATES.iter().filter_map(|state| {
        let count = states.iter().filter(|one| *one == state).count();
        (count > 0).then(|| format!("{count} {state}"))
    });
    let (all, counts) = (states.len(), counts.collect::<Vec<_>>().join(", "));
    format!("{all} host{}: {counts}", if all == 1 { "" } else { "s" })
}
