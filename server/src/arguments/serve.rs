//! `dayone serve`: its settings, from a file, the environment and the command line.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};

use super::program::CommandLine;
use super::settings::Settings;

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone serve --base coreos=/srv/fedora-coreos-live.iso --media-url http://192.0.2.10:8081
  dayone serve --config dayone.yaml
  DAYONE_LOG=debug dayone serve --config dayone.yaml --api-listen 127.0.0.1:9080";

/// The arguments of `dayone serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
A settings file (YAML) has the names of the options as keys. The environment overrides the file, and the command line overrides \
both. `dayone config check` shows the values and where each comes from. On SIGHUP, the server reads its settings again.

Exit codes: 0 a signal stopped the server, 1 the server failed, 2 wrong arguments or settings, 130 or 143 a second signal ended \
the server at once.

{EXAMPLES}"))]
pub struct ServeArguments {
    /// File with settings (YAML, with the options' names as keys); the environment and the command line override it; an empty name
    /// means no file [default: /etc/dayone/dayone.yaml, if it exists]
    #[arg(long, env = "DAYONE_CONFIG", value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub config: Option<PathBuf>,

    /// All other settings.
    #[command(flatten)]
    pub settings: Settings,

    /// The command line, to be read again on SIGHUP.
    #[arg(skip)]
    pub line: CommandLine,
}
