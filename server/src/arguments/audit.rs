//! `dayone audit …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use imagelib::digest::Digest;

use super::OutputFormat;

/// `dayone audit …`.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Find entries of an audit log that were changed, removed, inserted or moved
    Verify(AuditVerifyArguments),
    /// Show who ordered which image, and who read which bytes of it
    Show(AuditShowArguments),
}

/// The arguments of `dayone audit verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each entry has a hash over the entry before it. dayone names the line of each entry that is not as the server wrote it.

A log whose last entries were cut off is intact in itself, and so is a log that somebody has written anew. Keep the hash that dayone \
prints on another machine, and pass it with --known the next time.

Exit codes: 0 all entries are intact, 1 they are not, 2 wrong arguments, or dayone cannot read a file.

Examples:
  dayone audit verify /var/log/dayone/audit.jsonl*
  dayone audit verify audit.jsonl --format json
  dayone audit verify audit.jsonl --known 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
pub struct AuditVerifyArguments {
    /// The files of the log, in any order; also compressed with gzip, xz or zstd
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Hash of an entry that must be in the log: the one that an earlier `dayone audit verify` printed
    #[arg(long, value_name = "HASH")]
    pub known: Option<Digest>,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}

/// The arguments of `dayone audit show`.
#[derive(Debug, Args)]
#[command(after_help = "\
dayone shows the entries in the order of the log. It does not check them: do that with `dayone audit verify`.

Exit codes: 0 success, 1 a line is not an entry, 2 wrong arguments, or dayone cannot read a file.

Examples:
  dayone audit show /var/log/dayone/audit.jsonl
  dayone audit show /var/log/dayone/audit.jsonl --host worker-0
  dayone audit show /var/log/dayone/audit.jsonl* --image 9f86d081884c --format json")]
pub struct AuditShowArguments {
    /// The files of the log, in any order; also compressed with gzip, xz or zstd
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Only entries about the host with this name
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Only entries about the image with this id, or an id that begins like this
    #[arg(long, value_name = "ID")]
    pub image: Option<String>,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
