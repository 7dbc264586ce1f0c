//! `dayone check`.

use clap::Args;
use hosts::network::NetworkManagerVersion;

use super::{BaseArgument, InputFile, OutputFormat};

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone check worker-0.yaml
  dayone check hosts/ --base fedora-coreos-live.iso
  dayone check fleet.yaml hosts.csv --format json";

/// The arguments of `dayone check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
dayone reads the documents, converts every host, compares the hosts with each other, and prints its findings. A finding has a \
position (file, line and column), a severity, a message and a code. Below the first finding of each code, dayone prints what \
will happen on the host, and how to fix it. dayone builds no image from documents with errors. Warnings are for you to judge.

Which settings the hosts' NetworkManager supports depends on its release. Without --base and --network-manager, dayone \
assumes 1.42.

Exit codes: 0 no errors (there may be warnings), 1 errors, 2 wrong arguments, or dayone cannot read a file.

{EXAMPLES}"))]
pub struct CheckArguments {
    /// Documents that describe hosts (NMState, BareMetalHost with its Secret, install-config.yaml, …), or directories of
    /// documents; all files are one set; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// Check for the release of NetworkManager in this image: PATH of an ISO or an initramfs, or
    /// kernel:PATH,initrd:PATH[,rootfs:PATH]
    #[arg(long, value_name = "BASE", conflicts_with = "network_manager")]
    pub base: Option<BaseArgument>,

    /// Check for this release of NetworkManager: 1.54.0, or the version of a package, such as 1:1.54.0-1.fc43
    #[arg(long, value_name = "VERSION")]
    pub network_manager: Option<NetworkManagerVersion>,

    /// Print one line for each finding, without effects and fixes
    #[arg(long, conflicts_with = "format")]
    pub short: bool,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
