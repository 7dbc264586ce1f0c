//! `dayone second-step`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hosts::second_step::Role;

use super::InputFile;

/// The arguments of `dayone second-step`.
#[derive(Debug, Args)]
#[command(after_help = "\
NMState says by the name of its file for whom it is: HOST.yml, or cluster.yml for all hosts that have none of their own. \
With --first-step, both steps are compared: the host must keep its address, its routes and its name servers.

Exit codes: 0 done, 1 the documents have errors, 2 wrong arguments, or a file cannot be read or written (such as one \
in DIR that has another content).")]
pub struct SecondStepArguments {
    /// NMState with br-ex, in a file called after its host, or documents that name their hosts; a directory is all
    /// documents below it; - is standard input
    #[arg(required_unless_present = "derive", value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// What the hosts are installed with: their networks before br-ex, and their roles; repeatable
    #[arg(long, value_name = "FILE")]
    pub first_step: Vec<InputFile>,

    /// Make the documents of hosts that have none, of those of the first step
    #[arg(long, requires = "first_step")]
    pub derive: bool,

    /// With --derive: NICs that the first step finds by their MAC address have the names that it calls them by
    #[arg(long, requires = "derive")]
    pub real_names: bool,

    /// The role of hosts whose documents do not say it
    #[arg(long, value_name = "ROLE")]
    pub role: Option<Role>,

    /// Write files into this directory, which is created if need be, instead of printing them
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Replace files in DIR that have another content
    #[arg(long, requires = "output")]
    pub force: bool,

    /// What to make
    #[arg(long, value_name = "FORMAT", default_value = "machine-config")]
    pub format: SecondStepFormat,
}

/// What `dayone second-step` makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum SecondStepFormat {
    /// One MachineConfig for each role
    #[default]
    MachineConfig,
    /// The hosts' documents as they are on the hosts
    Nmstate,
}
