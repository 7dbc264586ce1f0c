//! How the commands that are not a server end: what they say, and the exit code.

use std::borrow::Cow;
use std::error::Error;

use crate::error_chain::chain;

/// Why a command did not do what it was asked to do.
#[derive(Debug)]
pub(super) enum Failure {
    /// The documents have errors, which have been shown.
    Findings,
    /// It was done as far as can be seen, which is not far enough to say whether it has worked. That has been shown.
    Unknown,
    /// What was handed over cannot be used: an image, a document, a combination of them.
    Input(String),
    /// A BMC did not do what it was asked to do.
    Bmc(String),
    /// The arguments make no sense together, or a file cannot be read or written.
    System(String),
    /// The user pressed Ctrl-C, or somebody else ended the program politely. With what that means for what was asked.
    Interrupted(Cow<'static, str>),
}

impl Failure {
    /// What was handed over is at fault; `what` names it.
    pub(super) fn input(what: &str, error: &dyn Error) -> Self {
        Self::Input(format!("{what}: {}", chain(error)))
    }

    /// Reading or writing failed; `what` says what could not be done.
    pub(super) fn system(what: &str, error: &dyn Error) -> Self {
        Self::System(format!("{what}: {}", chain(error)))
    }

    /// The exit code.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Findings | Self::Input(_) | Self::Bmc(_) => 1,
            Self::System(_) => 2,
            Self::Unknown => 3,
            // What shells say of a program that SIGINT has ended.
            Self::Interrupted(_) => 130,
        }
    }
}
