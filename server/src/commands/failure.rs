//! Failures of the commands that are not servers, with their messages and exit codes.

use std::borrow::Cow;
use std::error::Error;

use crate::error_chain::chain;

/// Why a command failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The documents have errors, which the command has printed.
    Findings,
    /// dayone cannot tell whether the hosts have booted, and has printed that.
    Unknown,
    /// An image or a document is not usable, or their combination is not.
    Input(String),
    /// A BMC did not do what dayone asked of it.
    Bmc(String),
    /// The arguments contradict each other, or dayone cannot read or write a file.
    System(String),
    /// A signal interrupted the command. The text tells what that means for its work.
    Interrupted(Cow<'static, str>),
}

impl Failure {
    /// An image or a document is not usable; `what` names it.
    pub(super) fn input(what: &str, error: &dyn Error) -> Self {
        Self::Input(format!("{what}: {}", chain(error)))
    }

    /// Reading or writing failed; `what` names the action that failed.
    pub(super) fn system(what: &str, error: &dyn Error) -> Self {
        Self::System(format!("{what}: {}", chain(error)))
    }
}

/// Starts a runtime, runs `work` on it, and does not wait for threads that still read a disk.
pub(super) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::system("cannot start threads", &error))?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_background();
    Ok(outcome)
}
