//! `dayone inspect`.

use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;

/// The arguments of `dayone inspect`.
#[derive(Debug, Args)]
#[command(after_help = "\
What an image carries may be secret (keyfiles, Ignition): of contents, only the SHA-256 is shown. Kernel arguments \
are shown as they are.

Exit codes: 0 done, 1 not an image that dayone can read, 2 wrong arguments, or the file cannot be read.")]
pub struct InspectArguments {
    /// An ISO or an initramfs, customised or not
    #[arg(value_name = "FILE")]
    pub image: PathBuf,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
