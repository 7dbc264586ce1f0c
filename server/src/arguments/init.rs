//! `dayone init`.

use std::path::PathBuf;

use clap::Args;
use media::MediaUrl;

use crate::store::BaseDefinition;

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone init
  dayone init rack1/ --media-url http://192.0.2.10:8081
  dayone init rack1/ --base coreos=/srv/fedora-coreos-live.iso";

/// The arguments of `dayone init`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
dayone writes into the directory: dayone.yaml (settings of `dayone serve`), api-token (a new random token that only you may read), \
hosts/fleet.yaml and hosts/hosts.csv (three hosts with a bond and a VLAN), README.md (the next commands), and .gitignore, which \
keeps the token, the credentials and the server's data out of a repository. It also makes the directory bmc-credentials, for the \
user names and passwords of BMCs.

dayone replaces no file: if one of these exists, it writes nothing.

Exit codes: 0 success, 2 wrong arguments, a file exists, or dayone cannot write.

{EXAMPLES}"))]
pub struct InitArguments {
    /// The directory; dayone creates it
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,

    /// URL under which BMCs will reach the server [default: this machine's address in the direction of the default route, port
    /// 8081]
    #[arg(long, value_name = "URL")]
    pub media_url: Option<MediaUrl>,

    /// Base image, as for `dayone serve`; repeatable
    #[arg(long = "base", value_name = "NAME=PATH")]
    pub bases: Vec<BaseDefinition>,
}
