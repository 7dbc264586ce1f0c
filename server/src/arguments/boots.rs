//! `dayone boots`.

use clap::{Args, Subcommand};
use url::Url;

use super::server_access::server_url;
use super::{ListFormat, OutputFormat, ServerAccess};
use crate::boots::BootState;

/// What to do with the boots of a server.
#[derive(Debug, Subcommand)]
pub enum BootsCommand {
    /// Follow boots until all hosts have booted or failed
    Watch(BootsWatchArguments),
    /// List boots
    List(BootsListArguments),
    /// Show one boot: its steps, its remarks, and what was read of its image
    Show(BootsShowArguments),
    /// Delete boots: stop what is under way, eject the medium, and reset the boot override
    Rm(BootsRemoveArguments),
}

/// The server that has the boots.
#[derive(Debug, Args)]
pub struct BootsServer {
    /// URL of the server's API [default: `http://127.0.0.1:8080`]
    #[arg(long = "server", value_name = "URL", value_parser = server_url)]
    pub url: Option<Url>,

    /// How to reach the server.
    #[command(flatten)]
    pub access: ServerAccess,
}

/// The arguments of `dayone boots watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
The last boot of each host counts. On a terminal, the hosts are in a live view; elsewhere, each change is a line. The command ends when \
no host is booting any more. Ctrl-C ends it earlier; the server continues the boots.

Exit codes: 0 all hosts have booted, 1 a host has failed, or there is no boot, or none is left, 2 wrong arguments, or no server, \
3 no host has failed, and dayone cannot tell whether a host has booted, or the reader of the output has gone, 130 interrupted.

Examples:
  dayone boots watch
  dayone boots watch --format json
  dayone boots watch --host worker-0 --server https://dayone.example:8080 --token-file token")]
pub struct BootsWatchArguments {
    /// Only the boots of the host with this name
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Format of the output; json is one line for each boot that has changed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,

    /// The server.
    #[command(flatten)]
    pub server: BootsServer,
}

/// The arguments of `dayone boots list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 success, 1 the server refuses the request, 2 wrong arguments, or no server.

Examples:
  dayone boots list
  dayone boots list --state failed --state unknown
  dayone boots list --ended false --format csv > boots.csv")]
pub struct BootsListArguments {
    /// Only the boots of the host with this name
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Only boots in this state: queued, running, booted, unknown, failed, ejecting or ejected; repeatable, any one of them is
    /// enough
    #[arg(long, value_name = "STATE")]
    pub state: Vec<BootState>,

    /// true: only boots that have ended; false: only boots that have not ended
    #[arg(long, value_name = "BOOLEAN")]
    pub ended: Option<bool>,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: ListFormat,

    /// The server.
    #[command(flatten)]
    pub server: BootsServer,
}

/// The arguments of `dayone boots show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 success, 1 there is no such boot, 2 wrong arguments, or no server.

Examples:
  dayone boots show worker-0
  dayone boots show worker-0 --server https://dayone.example:8080 --token-file token
  dayone boots show 06gq1k2m5v8t3n4p --format json")]
pub struct BootsShowArguments {
    /// Id of the boot, or the name of a host, for the host's last boot
    #[arg(value_name = "BOOT")]
    pub boot: String,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,

    /// The server.
    #[command(flatten)]
    pub server: BootsServer,
}

/// The arguments of `dayone boots rm`.
#[derive(Debug, Args)]
#[command(after_help = "\
The server stops a boot that is under way, ejects its medium and resets the boot override. It forgets a boot that has ended. A live \
system reads its medium for as long as it runs: delete its boot only when the host no longer needs the medium.

Exit codes: 0 success, 1 there is no such boot, or with --wait, the BMC did not eject the medium, or somebody deleted the boot with \
--forget meanwhile, 2 wrong arguments, or no server, 130 interrupted.

Examples:
  dayone boots rm worker-0 --wait
  dayone boots rm worker-0 worker-1 --forget
  dayone boots rm 06gq1k2m5v8t3n4p --power-off")]
pub struct BootsRemoveArguments {
    /// Ids of boots, or names of hosts, for the last boot of each
    #[arg(value_name = "BOOT", required = true)]
    pub boots: Vec<String>,

    /// Forget the boots at once, and leave their BMCs as they are; for BMCs that no longer exist
    #[arg(long)]
    pub forget: bool,

    /// Switch the hosts off before ejecting the media
    #[arg(long, conflicts_with = "forget")]
    pub power_off: bool,

    /// Wait until the BMCs are restored
    #[arg(long, conflicts_with = "forget")]
    pub wait: bool,

    /// The server.
    #[command(flatten)]
    pub server: BootsServer,
}
