//! `dayone manifests`.

use std::path::PathBuf;

use clap::Args;
use hosts::manifests::Namespace;

use super::{InputFile, path_to_write};

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone manifests hosts.yaml
  dayone manifests fleet.yaml hosts.csv --namespace metal3 -o objects
  dayone manifests hosts.yaml --host worker-1 --without-bmc-secret";

/// The arguments of `dayone manifests`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The output contains the passwords of BMCs, unless you give --without-bmc-secret. With -o, dayone writes one file for each host, \
which only its owner can read.

Exit codes: 0 success, 1 the documents have errors, 2 wrong arguments, or dayone cannot read or write a file (for example \
because it exists with a different content).

{EXAMPLES}"))]
#[allow(clippy::struct_excessive_bools, reason = "each is a separate option")]
pub struct ManifestsArguments {
    /// Documents that describe hosts, of any supported kind; all files are one set; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// Only this host; repeatable
    #[arg(long = "host", value_name = "NAME")]
    pub host_names: Vec<String>,

    /// Namespace of all objects
    #[arg(long, value_name = "NAMESPACE", default_value = "openshift-machine-api")]
    pub namespace: Namespace,

    /// Write no Secrets with BMCs' credentials
    #[arg(long)]
    pub without_bmc_secret: bool,

    /// Leave the hosts switched off
    #[arg(long)]
    pub offline: bool,

    /// Install CoreOS at once, with the user data of the host's role: for clusters without a MachineSet
    #[arg(long)]
    pub install_coreos: bool,

    /// Write the objects into this directory instead of printing them; dayone creates the directory if necessary
    #[arg(short = 'o', long = "output", value_name = "DIR", value_parser = path_to_write())]
    pub output: Option<PathBuf>,

    /// Replace files in DIR that have a different content
    #[arg(long, requires = "output")]
    pub force: bool,
}
