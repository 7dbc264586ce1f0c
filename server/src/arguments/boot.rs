//! `dayone boot`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use imagelib::base::Format;
use media::MediaUrl;
use url::Url;

use super::{BmcAccess, CustomisationArguments, InputFile, OutputFormat};
use crate::boots::{CredentialsName, Evidence};

/// The arguments of `dayone boot`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --server, this program serves the image itself, so it runs on when the hosts have booted, since live systems go on \
reading their medium; with --eject-when-booted it ejects it then, and ends. Ctrl-C ejects and sets the boot override back; a \
second one ends the program at once.

A host has booted when dayone sees one of the signs that it waits for, after the host was switched on. Where the BMC lets \
none of them be seen, the outcome is unknown: dayone ejects nothing and leaves the boot override as it is.

With --server, a running dayone does it, and the program ends when that has begun; with --wait, when the hosts have booted.

Exit codes: 0 done, 1 a host did not boot, or the documents or the image cannot be used, 2 wrong arguments, or no server, \
3 dayone cannot tell whether a host has booted, 130 interrupted.

Examples:
  dayone boot worker-0.yaml --base fedora-coreos-live.iso --media-url http://192.0.2.1:8081
  dayone boot worker-0.yaml --base fcos --server https://dayone.example:8080 --token-file token --wait")]
pub struct BootArguments {
    /// Every host in these documents (BareMetalHost objects with their Secrets, install-config.yaml, …), or in directories
    /// of them: all are one set; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub documents: Vec<InputFile>,

    /// The only host to boot, of several in the documents; its name, or one of its MAC addresses
    #[arg(long, value_name = "NAME")]
    pub host_name: Option<String>,

    /// Image to customise, as build takes it; with --server, the name that the server has for it
    #[arg(long, value_name = "BASE")]
    pub base: String,

    /// What to make: iso (if not said), minimal-iso, or usb for BMCs that show a disk to the host
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// Replace what somebody has embedded in the base
    #[arg(long)]
    pub force: bool,

    /// The BMC's address, in place of that in the documents, as Metal3 writes it
    #[arg(long, value_name = "ADDRESS")]
    pub bmc: Option<String>,

    /// How to log in.
    #[command(flatten)]
    pub access: BmcAccess,

    /// What shows that a host has booted, any of these: call-home, boot-progress, reachable, reading; repeatable
    /// [default: call-home where the system can, boot-progress and reachable otherwise]
    #[arg(long, value_name = "SIGN")]
    pub wait_for: Vec<Evidence>,

    /// How long a host may take to boot [default: 1800]
    #[arg(long, value_name = "SECONDS")]
    pub booted_within: Option<u64>,

    /// How long a host gets to shut down before it is switched off [default: 0]
    #[arg(long, value_name = "SECONDS")]
    pub shutdown_within: Option<u64>,

    /// Leave the medium in, whatever happens
    #[arg(long)]
    pub keep: bool,

    /// What is said of the way: text, or a line of JSON for each change
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: OutputFormat,

    /// What is changed besides the network.
    #[command(flatten)]
    pub customisation: CustomisationArguments,

    /// A dayone that serves.
    #[command(flatten)]
    pub server: ServerArguments,

    /// This program as the server.
    #[command(flatten)]
    pub serving: ServingArguments,
}

/// Which dayone does it, where another one does.
#[derive(Debug, Args)]
#[command(next_help_heading = "By a dayone that serves")]
pub struct ServerArguments {
    /// Its API, such as `https://dayone.example:8080`
    #[arg(long = "server", value_name = "URL")]
    pub url: Option<Url>,

    /// File with its bearer token [default: the variable `DAYONE_API_TOKEN`]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub token_file: Option<PathBuf>,

    /// Certificates (PEM) that it is trusted by [default: this system's authorities]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub server_ca: Option<PathBuf>,

    /// Credentials for the BMC, by the name that it keeps them under
    #[arg(long, value_name = "NAME", requires = "url")]
    pub bmc_credentials: Option<CredentialsName>,

    /// Wait until the hosts have booted
    #[arg(long, requires = "url")]
    pub wait: bool,
}

/// How this program serves, where it does.
#[derive(Debug, Args)]
#[command(next_help_heading = "Without one")]
pub struct ServingArguments {
    /// Address that BMCs fetch the images from [default: [::]:8081, which takes IPv4 too]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "url")]
    pub media_listen: Option<SocketAddr>,

    /// What BMCs have to call that address, such as `http://192.0.2.10:8081` [default: --media-listen, if it is one
    /// address]
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    pub media_url: Option<MediaUrl>,

    /// Certificate chain (PEM) of that address; without it BMCs use plain HTTP
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub media_tls_cert: Option<PathBuf>,

    /// Private key (PEM) of that address
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub media_tls_key: Option<PathBuf>,

    /// Directory to keep records in; boots that are under way there go on [default: one that is removed at the end]
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub data_dir: Option<PathBuf>,

    /// Eject the medium as soon as the hosts have booted, and end: for systems that need it no longer by then
    #[arg(long, conflicts_with_all = ["url", "keep"])]
    pub eject_when_booted: bool,
}
