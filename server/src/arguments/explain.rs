//! `dayone explain`.

use clap::Args;

use super::OutputFormat;

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone explain gateway-off-link
  dayone explain
  dayone explain --format json";

/// The arguments of `dayone explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The code of a finding is in brackets at the end of its line. Without a code, dayone lists all codes.

Exit codes: 0 success, 2 wrong arguments, such as an unknown code.

{EXAMPLES}"))]
pub struct ExplainArguments {
    /// The code of a finding, such as ip-not-enabled
    #[arg(value_name = "CODE")]
    pub codes: Vec<String>,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
