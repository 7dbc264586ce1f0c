//! `dayone convert`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{InputFile, OutputFormat, path_to_write};

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone convert worker-0.yaml
  dayone convert --explain worker-0.yaml
  dayone convert hosts/ -o keyfiles";

/// The arguments of `dayone convert`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("written").args(["output", "svg"]).multiple(true), after_help = EXAMPLES, after_long_help = format!("\
Each of several hosts gets a directory of its own in DIR, with the host's name, or else its first MAC address. Only the owner \
can read the files, because keyfiles may hold passwords. If any host has errors, dayone writes nothing.

Exit codes: 0 success, 1 the documents have errors, 2 wrong arguments, or dayone cannot read or write a file (for example \
because it exists with a different content).

{EXAMPLES}"))]
pub struct ConvertArguments {
    /// Documents that describe hosts (NMState, BareMetalHost with its Secret, install-config.yaml, …), or directories of
    /// documents; all files are one set; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<InputFile>,

    /// Write the keyfiles into this directory instead of printing them; dayone creates the directory if necessary
    #[arg(short = 'o', long = "output", value_name = "DIR", value_parser = path_to_write())]
    pub output: Option<PathBuf>,

    /// Print each host's network in tables instead of its keyfiles
    #[arg(long)]
    pub explain: bool,

    /// Draw each host's network as SVG: into the file PATH for one host, into HOST.svg in the directory PATH for several
    #[arg(long, value_name = "PATH", value_parser = path_to_write())]
    pub svg: Option<PathBuf>,

    /// Replace files that have a different content
    #[arg(long, requires = "written")]
    pub force: bool,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}
