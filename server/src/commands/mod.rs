//! The commands of `dayone`: one file or directory per command.

mod audit;
mod base;
pub(crate) mod bases;
mod bmc;
mod boot;
mod boot_api;
mod boots;
mod build;
mod check;
mod client;
mod completions;
pub(crate) mod config;
mod controller;
mod convert;
mod customisation;
mod doctor;
mod documents;
pub(crate) mod events;
mod explain;
mod failure;
mod files;
mod findings;
mod following;
mod foreign_answer;
mod images;
mod init;
mod inspect;
mod key;
mod man_pages;
mod manifests;
mod output_files;
mod partial;
mod second_step;
mod serve;
mod service;
mod service_manager;
mod signals;
mod static_server;
mod table;
mod terminal;
mod wrong_scheme;

use std::process::ExitCode;

use crate::arguments::{Arguments, BmcCommand, Command, ConfigCommand};

/// Runs the command.
pub fn run(arguments: Arguments) -> ExitCode {
    arguments.notices.iter().for_each(|notice| terminal::remark(notice));
    let result = match arguments.command {
        Command::Serve(arguments) => return serve::run(*arguments),
        Command::Controller(arguments) => return controller::run(*arguments),
        Command::StaticServer(arguments) => return static_server::run(*arguments),
        Command::Config(ConfigCommand::Check(arguments)) => return config::check(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Boot(arguments) => boot::run(&arguments),
        Command::Boots(command) => boots::run(&command),
        Command::Build(arguments) => build::run(&arguments),
        Command::Base(command) => bases::run(&command),
        Command::Audit(command) => audit::run(&command),
        Command::Key(command) => key::run(&command),
        Command::Images(arguments) => images::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::SecondStep(arguments) => second_step::run(&arguments),
        Command::Manifests(arguments) => manifests::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Bmc(BmcCommand::Probe(arguments)) => bmc::probe(&arguments),
        Command::Bmc(BmcCommand::Enrol(arguments)) => bmc::enrol(&arguments),
        Command::Eject(arguments) => bmc::eject(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::ManPages(arguments) => man_pages::run(&arguments),
    };
    result.map_or_else(|failure| terminal::report(&failure), |()| ExitCode::SUCCESS)
}
