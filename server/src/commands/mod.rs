//! What `dayone` can be told to do: one file per subcommand.

mod check;
mod convert;
mod documents;
mod failure;
mod findings;
mod serve;
mod terminal;

use std::process::ExitCode;

use crate::arguments::{Arguments, Command};

/// Does what the arguments say.
pub fn run(arguments: Arguments) -> ExitCode {
    match arguments.command {
        Command::Serve(arguments) => serve::run(*arguments),
        Command::Convert(arguments) => failure::exit_code(convert::run(&arguments)),
        Command::Check(arguments) => failure::exit_code(check::run(&arguments)),
    }
}
