//! `dayone completions`.

use clap::Args;
use clap_complete::Shell;

/// The arguments of `dayone completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Packages of dayone install the scripts for bash, zsh and fish. To complete in this shell only: \
eval \"$(dayone completions bash)\"

Exit codes: 0 success, 2 wrong arguments.")]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}
