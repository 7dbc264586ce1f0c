//! Checks whether what settings name is there and usable, for the user who runs the check. It starts and changes nothing.

mod certificates;
mod contents;
mod files;
mod serve;
mod service_credentials;
mod variables;

use super::{Loaded, Place, Problem};
use crate::arguments::Program;

/// Checks settings. The errors come first.
pub fn check(loaded: &Loaded) -> Vec<Problem> {
    let checking = Checking { loaded, problems: Vec::new() };
    let mut problems = match loaded.program {
        Program::Serve => serve::check(checking),
        Program::Controller | Program::StaticServer => contents::check(checking),
    };
    problems.extend(variables::misspelt(loaded.program));
    problems.sort_by_key(|problem| problem.severity);
    problems
}

/// The problems that were found so far.
struct Checking<'a> {
    loaded: &'a Loaded,
    problems: Vec<Problem>,
}

impl Checking<'_> {
    /// An error about the setting `key`.
    fn mistake(&mut self, key: &str, code: &'static str, message: impl Into<String>, fix: impl Into<String>) {
        let place = Place::of(key, &self.loaded.origin(key));
        self.problems.push(Problem::error(code, place, message, fix));
    }

    /// A warning about the setting `key`.
    fn doubt(&mut self, key: &str, code: &'static str, message: impl Into<String>, fix: impl Into<String>) {
        let place = Place::of(key, &self.loaded.origin(key));
        self.problems.push(Problem::warning(code, place, message, fix));
    }
}
