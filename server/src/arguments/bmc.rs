//! `dayone bmc` and `dayone eject`, and what all commands that talk to a BMC take.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ipnet::IpNet;

use super::OutputFormat;

/// Which BMC, and how to log in to it.
#[derive(Debug, Args)]
pub struct BmcArguments {
    /// The BMC's address, as Metal3 writes it; or documents with a BareMetalHost and its Secret: YAML or JSON files,
    /// or - for standard input
    #[arg(value_name = "ADDRESS|FILE", required = true)]
    pub bmc: Vec<String>,

    /// Host whose BMC is meant, where the documents have several
    #[arg(long, value_name = "NAME")]
    pub host_name: Option<String>,

    /// How to log in.
    #[command(flatten)]
    pub access: BmcAccess,
}

/// How to log in to a BMC, and whom to take for it.
#[derive(Debug, Default, Args)]
pub struct BmcAccess {
    /// Who logs in [default: the documents' Secret, or `DAYONE_BMC_USERNAME`]
    #[arg(long, value_name = "NAME")]
    pub bmc_username: Option<String>,

    /// File with the password [default: the documents' Secret, or `DAYONE_BMC_PASSWORD`]
    #[arg(long, value_name = "FILE")]
    pub bmc_password_file: Option<PathBuf>,

    /// Certificates (PEM) that the BMC is trusted by, its own or an authority's [default: this system's authorities]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub bmc_ca: Option<PathBuf>,

    /// Do not verify the BMC's certificate: any machine that answers gets the password
    #[arg(long)]
    pub insecure: bool,

    /// Network (CIDR) that the BMC is in; repeatable; any if not said
    #[arg(long, value_name = "CIDR")]
    pub bmc_network: Vec<IpNet>,
}

/// `dayone bmc …`.
#[derive(Debug, Subcommand)]
pub enum BmcCommand {
    /// Say what a BMC can do, and what would be asked of it; change nothing
    Probe(ProbeArguments),
}

/// The arguments of `dayone bmc probe`.
#[derive(Debug, Args)]
#[command(after_help = "\
The BMC is read, and nothing is changed; a session is begun and ended.

Exit codes: 0 the BMC can boot an image, 1 it cannot, or cannot be reached or logged in to, 2 wrong arguments.

Example: dayone bmc probe redfish-virtualmedia://192.0.2.10 --bmc-username root --bmc-password-file pw --bmc-ca bmc.pem")]
pub struct ProbeArguments {
    /// Which BMC.
    #[command(flatten)]
    pub bmc: BmcArguments,

    /// What the image is to be for the host
    #[arg(long, value_name = "MEDIUM", default_value = "cd")]
    pub medium: MediumArgument,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}

/// What an image is for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MediumArgument {
    /// A CD or DVD
    Cd,
    /// A USB stick
    Usb,
}

/// The arguments of `dayone eject`.
#[derive(Debug, Args)]
#[command(after_help = "\
A live system that still reads its medium loses its root file system.

Exit codes: 0 nothing is inserted any more, 1 the BMC did not do it, or cannot be reached or logged in to, 2 wrong \
arguments.")]
pub struct EjectArguments {
    /// Which BMC.
    #[command(flatten)]
    pub bmc: BmcArguments,

    /// Slot to empty, by its id or path [default: all slots with an image of an HTTP server]
    #[arg(long, value_name = "SLOT")]
    pub slot: Option<String>,

    /// How to print what was done
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
