//! `dayone base`: bases of a server, and bases as files.

mod add;
mod fetch;
mod list;
mod order;
mod progress;
mod remove;
pub(crate) mod stream;

use super::failure::Failure;
use crate::arguments::BaseCommand;

pub(super) fn run(command: &BaseCommand) -> Result<(), Failure> {
    match command {
        BaseCommand::Add(arguments) => add::run(arguments),
        BaseCommand::Fetch(arguments) => fetch::run(arguments),
        BaseCommand::List(arguments) => list::run(arguments),
        BaseCommand::Rm(arguments) => remove::run(arguments),
    }
}
