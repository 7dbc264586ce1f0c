//! `dayone man-pages`.

use std::path::PathBuf;

use clap::Args;

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone man-pages /usr/local/share/man/man1
  dayone man-pages man
  dayone man-pages .";

/// The arguments of `dayone man-pages`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Writes dayone.1 and one page for each command, such as dayone-serve.1. The pages have the text of --help. Packages of dayone \
install them.

Exit codes: 0 success, 2 wrong arguments, or dayone cannot write a file.

{EXAMPLES}"))]
pub struct ManPagesArguments {
    /// Directory for the pages, such as /usr/local/share/man/man1; dayone creates it if necessary, and replaces pages that
    /// are there
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}
