//! `dayone doctor`.

use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;

/// The largest value of `--slow`, in seconds.
const SLOWEST: u64 = 3600;

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone doctor http://192.0.2.10:8081/i/abcdefghijklmnopqrstuvwxyz/boot.iso
  dayone doctor https://192.0.2.10:8443/i/abcdefghijklmnopqrstuvwxyz/boot.iso --ca ca.pem
  dayone doctor --slow 70 http://mirror.example/live.iso";

/// The arguments of `dayone doctor`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
dayone imitates readers of virtual media, and sends a few hundred requests. It reads a few MiB. The slow readers take --slow \
seconds, and dayone examines everything else meanwhile. You can examine any server.

Exit codes: 0 no known reader would fail (there may be warnings), 1 a known reader would fail, 2 wrong arguments, or there is \
no server.

{EXAMPLES}"))]
pub struct DoctorArguments {
    /// URL of an image, as you would give it to a BMC
    #[arg(value_name = "URL")]
    pub url: String,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,

    /// Certificates (PEM) of the authorities that may have signed the server's certificate [default: this system's
    /// authorities]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca: Option<PathBuf>,

    /// Do not verify the server's certificate
    #[arg(long)]
    pub insecure: bool,

    /// For how long a reader is slow, and a connection idle, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=SLOWEST))]
    pub slow: u64,
}
