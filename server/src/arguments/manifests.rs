//! `dayone manifests`.

use std::path::PathBuf;

use clap::Args;
use hosts::manifests::Namespace;

use super::InputFile;

/// The arguments of `dayone manifests`.
#[derive(Debug, Args)]
#[command(after_help = "\
What is printed holds the passwords of BMCs, unless --without-bmc-secret is said. Files in DIR can be read by their owner \
alone, one for each host.

Exit codes: 0 done, 1 the documents have errors, 2 wrong arguments, or a file cannot be read or written (such as one \
in DIR that has another content).")]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct ManifestsArguments {
    /// Documents that describe hosts, in any shape; several files are one set of documents; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// Only this host; repeatable
    #[arg(long = "host-name", value_name = "NAME")]
    pub host_names: Vec<String>,

    /// The namespace of the objects
    #[arg(long, value_name = "NAMESPACE", default_value = "openshift-machine-api")]
    pub namespace: Namespace,

    /// Make no Secrets with BMCs' credentials
    #[arg(long)]
    pub without_bmc_secret: bool,

    /// Leave the hosts switched off
    #[arg(long)]
    pub offline: bool,

    /// Install CoreOS at once with the user data of the host's role, where no MachineSet does
    #[arg(long)]
    pub install_coreos: bool,

    /// Write the objects into this directory, which is created if need be, instead of printing them
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Replace files in DIR that have another content
    #[arg(long, requires = "output")]
    pub force: bool,
}
