//! `dayone man-pages`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `dayone man-pages`.
#[derive(Debug, Args)]
#[command(after_help = "\
Writes dayone.1 and one page for each command, such as dayone-serve.1. The pages have the text of --help. Packages of dayone \
install them.

Exit codes: 0 success, 2 wrong arguments, or dayone cannot write a file.")]
pub struct ManPagesArguments {
    /// Directory for the pages, such as /usr/local/share/man/man1; dayone creates it if necessary, and replaces pages that
    /// are there
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}
