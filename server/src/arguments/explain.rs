//! `dayone explain`.

use clap::Args;

use super::OutputFormat;

/// The arguments of `dayone explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
A finding's code stands at the end of its line, in brackets. Without a code, all of them are listed.

Exit codes: 0 done, 2 wrong arguments, such as a code that no finding has.")]
pub struct ExplainArguments {
    /// The code of a finding, such as ip-not-enabled
    #[arg(value_name = "CODE")]
    pub codes: Vec<String>,

    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
