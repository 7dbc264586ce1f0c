//! `dayone check`.

use clap::Args;

use super::{InputFile, OutputFormat};

/// The arguments of `dayone check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each finding says how much it weighs, where in the documents it stands, and what is wrong. With errors, no image can \
be built; warnings are for you to judge.

Exit codes: 0 no errors (there may be warnings), 1 errors, 2 wrong arguments, or a file cannot be read.")]
pub struct CheckArguments {
    /// NMState, or a BareMetalHost with its Secret, in YAML or JSON; several files are one set of documents; - is
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
