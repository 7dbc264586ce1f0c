//! What `dayone` can be told to do: one file per subcommand.

mod base;
mod build;
mod check;
mod convert;
mod documents;
mod failure;
mod findings;
mod inspect;
mod serve;
mod terminal;

use std::process::ExitCode;

use crate::arguments::{Arguments, Command};

/// Does what the arguments say.
pub fn run(arguments: Arguments) -> ExitCode {
    match arguments.command {
        Command::Serve(arguments) => serve::run(*arguments),
        Command::Build(arguments) => failure::exit_code(build::run(*arguments)),
        Command::Convert(arguments) => failure::exit_code(convert::run(&arguments)),
        Command::Inspect(arguments) => failure::exit_code(inspect::run(&arguments)),
        Command::Check(arguments) => failure::exit_code(check::run(&arguments)),
    }
}
