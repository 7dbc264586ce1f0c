//! The version of this program, and what it was built from.

use std::sync::LazyLock;

use hosts::network::NMSTATE_VERSION;

/// The commit. A build without the variable does not know it: reading it from git would compile the crate again after every
/// commit, and would make the program depend on where it was built.
const COMMIT: Option<&str> = option_env!("DAYONE_COMMIT");

static LONG: LazyLock<String> = LazyLock::new(|| described(COMMIT));

/// Returns what `dayone --version` prints after the name: the version, the commit and the release of nmstate.
pub(crate) fn long() -> &'static str {
    LONG.as_str()
}

/// Returns the commit, if the build knew it.
pub(crate) fn commit() -> Option<&'static str> {
    COMMIT.filter(|commit| !commit.is_empty())
}

fn described(commit: Option<&str>) -> String {
    let commit = commit.filter(|commit| !commit.is_empty());
    let commit = commit.unwrap_or("unknown (DAYONE_COMMIT was not set for the build)");
    format!("{}\ncommit: {commit}\nnmstate: {NMSTATE_VERSION}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_a_commit_says_so() {
        let version = env!("CARGO_PKG_VERSION");
        let known = described(Some("0123abcd"));
        assert_eq!(known, format!("{version}\ncommit: 0123abcd\nnmstate: {NMSTATE_VERSION}"));
        for commit in [None, Some("")] {
            assert!(described(commit).contains("\ncommit: unknown (DAYONE_COMMIT was not set"), "{commit:?}");
        }
    }
}
