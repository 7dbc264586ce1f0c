//! The binary `dayone`.

use std::process::ExitCode;

fn main() -> ExitCode {
    dayone::commands::run(dayone::arguments::parse(std::env::args_os()))
}
