//! `dayone doctor`.

use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;

/// The longest that a slow reader may be asked to take, in seconds.
const SLOWEST: u64 = 3600;

/// The arguments of `dayone doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Any server can be examined. A few hundred requests are sent and a few MiB read. What is read slowly takes --slow seconds; \
all else is done meanwhile.

Exit codes: 0 no reader that is known would fail (there may be warnings), 1 one would, 2 wrong arguments, or there is no \
server.

Example: dayone doctor https://192.0.2.10:8443/i/abcdefghijklmnopqrstuvwxyz/boot.iso --ca ca.pem")]
pub struct DoctorArguments {
    /// Address of an image, as a BMC would be given it
    #[arg(value_name = "URL")]
    pub url: String,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,

    /// Certificates (PEM) of the authorities that the server's certificate may be of, in place of this machine's
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca: Option<PathBuf>,

    /// Do not judge the server's certificate
    #[arg(long)]
    pub insecure: bool,

    /// For how long a reader is slow, and a connection idle
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=SLOWEST))]
    pub slow: u64,
}
