//! The binary `dayone`: arguments and nothing else.

use std::process::ExitCode;

use clap::Parser;
use dayone::arguments::Arguments;

fn main() -> ExitCode {
    dayone::commands::run(Arguments::parse())
}
