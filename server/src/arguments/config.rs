//! `dayone config …`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::program::Program;

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone config check
  dayone config check dayone.yaml --format table
  dayone config check --for controller -- --images-publish-addr http://192.0.2.10:8084";

/// `dayone config …`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Find mistakes in the settings of a server, or show the values that it would use
    Check(CheckConfigArguments),
}

/// The arguments of `dayone config check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
dayone reads the settings file, the environment and the options behind --, as the server would. It checks every name and value, and \
whether what they name is there for the user who runs the command: the files of bases, certificates with their keys, files with \
tokens and their permissions, directories. It starts and changes nothing.

With --format, dayone prints every setting, its value, and where the value comes from: a line of the file, a variable, an option \
or the default. Secrets are hidden. The output of --format yaml is a settings file.

Exit codes: 0 no errors (there may be warnings), 1 errors, 2 wrong arguments, or dayone cannot read the file.

{EXAMPLES}"))]
pub struct CheckConfigArguments {
    /// The settings file [default: that of the variable `DAYONE_CONFIG`, or /etc/dayone/dayone.yaml, if it exists]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The program whose settings these are
    #[arg(long = "for", value_name = "PROGRAM", default_value = "serve")]
    pub program: Program,

    /// Print the values and where they come from
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ConfigFormat>,

    /// Options of the server, as it would be started with
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<OsString>,
}

/// How to print settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ConfigFormat {
    /// A table for people
    Table,
    /// A settings file
    Yaml,
    /// One JSON object, for programs; it has the problems, too
    Json,
}
