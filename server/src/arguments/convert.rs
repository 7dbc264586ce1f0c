//! `dayone convert`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{InputFile, OutputFormat};

/// The arguments of `dayone convert`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("written").args(["output", "svg"]).multiple(true), after_help = "\
Keyfiles may hold passwords (802.1X): the files in DIR can be read by their owner alone.
Of several hosts, each gets its own directory in DIR, called by its name or else its first MAC address. If any host has \
errors, nothing is written.

Exit codes: 0 done, 1 the documents have errors, 2 wrong arguments, or a file cannot be read or written (such as one \
that is there with another content).")]
pub struct ConvertArguments {
    /// Documents that describe hosts (NMState, BareMetalHost with its Secret, install-config.yaml, …), or directories of
    /// them: all are one set of documents; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// Write the keyfiles into this directory, which is created if need be, instead of printing them
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Print what each host's network will be, in tables, instead of its keyfiles
    #[arg(long)]
    pub explain: bool,

    /// Draw what each host's network will be, as SVG: of one host into the file PATH, of several into HOST.svg in the
    /// directory PATH
    #[arg(long, value_name = "PATH")]
    pub svg: Option<PathBuf>,

    /// Replace files that have another content
    #[arg(long, requires = "written")]
    pub force: bool,

    /// How to print what was converted
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
