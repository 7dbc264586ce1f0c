//! What `dayone` can be told to do: one file per subcommand.

mod base;
mod bmc;
mod boot;
mod build;
mod check;
mod controller;
mod convert;
mod customisation;
mod doctor;
mod documents;
mod ending;
mod explain;
mod failure;
mod files;
mod findings;
mod inspect;
mod manifests;
mod output_files;
mod partial;
mod second_step;
mod serve;
mod service;
mod signals;
mod static_server;
mod table;
mod terminal;

use std::process::ExitCode;

use crate::arguments::{Arguments, BmcCommand, Command};

/// Does what the arguments say.
pub fn run(arguments: Arguments) -> ExitCode {
    match arguments.command {
        Command::Serve(arguments) => serve::run(*arguments),
        Command::Controller(arguments) => controller::run(*arguments),
        Command::StaticServer(arguments) => static_server::run(*arguments),
        Command::Boot(arguments) => ending::exit_code(boot::run(&arguments)),
        Command::Build(arguments) => ending::exit_code(build::run(*arguments)),
        Command::Convert(arguments) => ending::exit_code(convert::run(&arguments)),
        Command::SecondStep(arguments) => ending::exit_code(second_step::run(&arguments)),
        Command::Manifests(arguments) => ending::exit_code(manifests::run(&arguments)),
        Command::Inspect(arguments) => ending::exit_code(inspect::run(&arguments)),
        Command::Bmc(BmcCommand::Probe(arguments)) => ending::exit_code(bmc::probe(&arguments)),
        Command::Eject(arguments) => ending::exit_code(bmc::eject(&arguments)),
        Command::Doctor(arguments) => ending::exit_code(doctor::run(&arguments)),
        Command::Explain(arguments) => ending::exit_code(explain::run(&arguments)),
        Command::Check(arguments) => ending::exit_code(check::run(&arguments)),
    }
}
