//! `dayone check`.

use clap::Args;
use hosts::network::NetworkManagerVersion;

use super::{BaseArgument, InputFile, OutputFormat};

/// The arguments of `dayone check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each finding says where it is (file, line and column; the path in the documents), how much it weighs, what is wrong, \
what will happen on the host, and how to fix it. With errors, no image can be built; warnings are for you to judge.

What the hosts' NetworkManager lacks depends on its release. Without --base and --network-manager, 1.42 is assumed.

Exit codes: 0 no errors (there may be warnings), 1 errors, 2 wrong arguments, or a file cannot be read.")]
pub struct CheckArguments {
    /// Documents that describe hosts (NMState, BareMetalHost with its Secret, install-config.yaml, …), or directories of
    /// them: all are one set of documents; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// Image that the hosts will start (PATH of an ISO or an initramfs, or kernel:PATH,initrd:PATH[,rootfs:PATH]): check for
    /// the release of NetworkManager in it
    #[arg(long, value_name = "BASE", conflicts_with = "network_manager")]
    pub base: Option<BaseArgument>,

    /// Release of NetworkManager on the hosts, such as 1.54.0, or its package's version: check for it
    #[arg(long, value_name = "VERSION")]
    pub network_manager: Option<NetworkManagerVersion>,

    /// Print one line for each finding, without what will happen and how to fix it
    #[arg(long, conflicts_with = "format")]
    pub short: bool,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
