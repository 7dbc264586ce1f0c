//! How a command that is not a server ends.

use std::process::ExitCode;

use super::failure::Failure;
use super::terminal;

/// Says what went wrong, where something did, in one sentence.
pub(super) fn exit_code(result: Result<(), Failure>) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    match &failure {
        Failure::Findings | Failure::Unknown => {}
        Failure::Input(message) | Failure::Bmc(message) | Failure::System(message) => terminal::complain(message),
        Failure::Interrupted(meaning) => terminal::complain(&format!("interrupted; {meaning}")),
    }
    ExitCode::from(failure.code())
}
