//! `dayone doctor`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;

/// The largest value of `--slow`, in seconds.
const MAX_SLOW_SECONDS: u64 = 3600;

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone doctor http://192.0.2.10:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso
  dayone doctor https://192.0.2.10:8443/i/abcdefghijklmnopqrstuvwxyz/boot.iso --ca ca.pem
  dayone doctor --slow 70 http://mirror.example/live.iso
  dayone doctor --self --config /etc/dayone/dayone.yaml";

/// The arguments of `dayone doctor`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
dayone imitates readers of virtual media, and sends a few hundred requests. It reads a few MiB. The slow readers take --slow \
seconds, and dayone examines everything else meanwhile. You can examine any server.

With --self, dayone examines the dayone server of this machine instead: its settings and the files that they name, its ports, its \
limits, disk and clock, and the way through its media URL. For that it reads a file that the server has without any image, and \
notices if another server or a proxy answers. It reads the settings file, the environment and the options behind --, as \
`dayone serve` does.

Exit codes: 0 nothing fails (there may be warnings), 1 something fails, 2 wrong arguments, or there is no server, 3 with --self: \
nothing fails, and dayone cannot tell about something.

{EXAMPLES}"))]
pub struct DoctorArguments {
    /// URL of an image, as you would give it to a BMC
    #[arg(value_name = "URL", required_unless_present = "itself")]
    pub url: Option<String>,

    /// Examine the dayone server of this machine
    #[arg(long = "self", conflicts_with = "url")]
    pub itself: bool,

    /// The server's settings file [default: that of the variable `DAYONE_CONFIG`, or /etc/dayone/dayone.yaml, if it exists]
    #[arg(long, value_name = "FILE", requires = "itself")]
    pub config: Option<PathBuf>,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,

    /// Certificates (PEM): the server's own, or those of the authorities that may have signed it [default: this system's
    /// authorities]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca: Option<PathBuf>,

    /// Do not verify the server's certificate
    #[arg(long)]
    pub insecure: bool,

    /// For how long a reader is slow, and a connection idle, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=MAX_SLOW_SECONDS))]
    pub slow: u64,

    /// Options of the server, as it was started with
    #[arg(last = true, value_name = "OPTION", requires = "itself")]
    pub options: Vec<OsString>,
}
