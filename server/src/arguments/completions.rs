//! `dayone completions`.

use clap::Args;
use clap_complete::Shell;

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone completions bash > /etc/bash_completion.d/dayone
  dayone completions zsh > /usr/local/share/zsh/site-functions/_dayone
  dayone completions fish > ~/.config/fish/completions/dayone.fish";

/// The arguments of `dayone completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Packages of dayone install the scripts for bash, zsh and fish. To complete in this shell only: \
eval \"$(dayone completions bash)\"

Exit codes: 0 success, 2 wrong arguments.

{EXAMPLES}"))]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}
