//! `dayone second-step`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hosts::second_step::Role;

use super::{InputFile, path_to_write};

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone second-step nmstate/ --role worker
  dayone second-step --first-step hosts.yaml --derive -o machine-configs
  dayone second-step worker-0.yml --first-step install-config.yaml";

/// The arguments of `dayone second-step`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The file name selects the host of an NMState document: HOST.yml, or cluster.yml for all hosts without a document of their own. \
With --first-step, dayone compares both steps: the host must keep its address, its routes and its name servers.

Exit codes: 0 success, 1 the documents have errors, 2 wrong arguments, or dayone cannot read or write a file (for example \
because it exists with a different content).

{EXAMPLES}"))]
pub struct SecondStepArguments {
    /// NMState with br-ex in files named after their hosts, or documents that name their hosts, or directories of documents; -
    /// is standard input
    #[arg(required_unless_present = "derive", value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// Documents with which you install the hosts: their networks before br-ex, and their roles; repeatable
    #[arg(long, value_name = "FILE")]
    pub first_step: Vec<InputFile>,

    /// Derive the documents of hosts that have none from the documents of the first step
    #[arg(long, requires = "first_step")]
    pub derive: bool,

    /// State that the first step uses the kernel's names for NICs that it finds by their MAC address
    #[arg(long, requires = "derive")]
    pub real_names: bool,

    /// Role of hosts whose documents do not have it
    #[arg(long, value_name = "ROLE")]
    pub role: Option<Role>,

    /// Write files into this directory instead of printing them; dayone creates the directory if necessary
    #[arg(short = 'o', long = "output", value_name = "DIR", value_parser = path_to_write())]
    pub output: Option<PathBuf>,

    /// Replace files in DIR that have a different content
    #[arg(long, requires = "output")]
    pub force: bool,

    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "machine-config")]
    pub format: SecondStepFormat,
}

/// What `dayone second-step` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum SecondStepFormat {
    /// One MachineConfig for each role
    #[default]
    MachineConfig,
    /// The documents as they are on the hosts
    Nmstate,
}
