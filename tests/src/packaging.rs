//! The scripts that make what users install, over the binary that was built beside the tests.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bases::fixtures;
use crate::peers::{cache, run};
use crate::server::dayone;

/// The commit that the scripts are told.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The top of this repository.
pub fn repository() -> PathBuf {
    fixtures("..")
}

/// A program in the repository, which is told a commit and a time.
pub fn in_repository(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(repository()).env("DAYONE_CACHE", cache()).env("DAYONE_COMMIT", COMMIT);
    command.env("SOURCE_DATE_EPOCH", "1700000000").env("FAST", "1").env("VERSION", env!("CARGO_PKG_VERSION"));
    command
}

/// A script of the repository.
pub fn script(name: &str) -> Command {
    in_repository(repository().join("scripts").join(name))
}

/// A copy of the binary without its symbols: those of a debug build are most of it.
pub fn stripped(directory: &Path) -> PathBuf {
    let binary = directory.join("dayone");
    run(Command::new("strip").arg("-o").arg(&binary).arg(dayone().get_program()));
    binary
}

/// `make install` of this binary, with these variables.
pub fn make_install(binary: &Path, variables: &[(&str, &Path)]) {
    let mut make = in_repository("make");
    make.args(["--silent", "install"]).arg(format!("BINARY={}", binary.display()));
    run(make.args(variables.iter().map(|(name, value)| format!("{name}={}", value.display()))));
}

/// A program that may change owners and roots, without being root of this machine.
pub fn as_root(program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", program]);
    command
}
