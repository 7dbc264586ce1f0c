//! `dayone convert`.

use std::path::PathBuf;

use clap::Args;

use super::{InputFile, OutputFormat};

/// The arguments of `dayone convert`.
#[derive(Debug, Args)]
#[command(after_help = "\
Keyfiles may hold passwords (802.1X): the files in DIR can be read by their owner alone.
Of several hosts, each gets its own directory in DIR. If any host has errors, nothing is written to DIR.

Exit codes: 0 done, 1 the documents have errors, 2 wrong arguments, or a file cannot be read or written (such as one \
in DIR that has another content).")]
pub struct ConvertArguments {
    /// NMState, or a BareMetalHost with its Secret, in YAML or JSON; several files are one set of documents; - is
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// Write the keyfiles into this directory, which is created if need be, instead of printing them
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Replace files in DIR that have another content
    #[arg(long, requires = "output")]
    pub force: bool,

    /// How to print what was converted
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
