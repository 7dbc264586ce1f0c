//! The programs at the other end. `scripts/setup-peers.sh` installs them.

use std::path::PathBuf;
use std::process::Command;

/// Where what `scripts/setup-peers.sh` builds and unpacks is kept.
pub fn cache() -> PathBuf {
    match std::env::var_os("DAYONE_CACHE") {
        Some(path) => path.into(),
        None => PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache/dayone"),
    }
}

/// Playwright and axe-core, in the versions that `scripts/setup-peers.sh` installs: a directory below [`cache`].
pub const PAGE_MODULES: &str = "page-playwright-core-1.65.1-axe-core-4.14.1";

/// A peer built by `scripts/setup-peers.sh`, such as `coreos-installer`.
pub fn peer(name: &str) -> Command {
    let path = cache().join("bin").join(name);
    assert!(path.exists(), "{} is missing; run scripts/setup-peers.sh", path.display());
    Command::new(path)
}

/// Runs a command that must succeed, and returns what it printed.
pub fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?} does not start ({error}); run scripts/setup-peers.sh");
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    output.stdout
}

/// [`run`], for commands that print text.
pub fn run_text(command: &mut Command) -> String {
    String::from_utf8(run(command)).expect("text")
}
