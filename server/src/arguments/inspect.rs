//! `dayone inspect`.

use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone inspect fedora-coreos-live.iso
  dayone inspect worker-0.iso
  dayone inspect --format json initrd.img";

/// The arguments of `dayone inspect`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Embedded files may be secret (keyfiles, Ignition), so dayone shows only the SHA-256 of their contents. It shows kernel \
arguments unchanged.

Exit codes: 0 success, 1 the file is not an image that dayone can read, 2 wrong arguments, or dayone cannot read the file.

{EXAMPLES}"))]
pub struct InspectArguments {
    /// An ISO, an initramfs or the image of a disk, customised or not
    #[arg(value_name = "FILE")]
    pub image: PathBuf,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
