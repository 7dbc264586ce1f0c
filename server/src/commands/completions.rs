//! `dayone completions`: the scripts that complete commands and options, made from the command line's own definition.

use clap::CommandFactory as _;

use super::failure::Failure;
use super::terminal;
use crate::arguments::{Arguments, CompletionsArguments};

pub(super) fn run(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "dayone", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))
}
