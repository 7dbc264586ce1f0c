//! `dayone boot`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use imagelib::base::Format;
use media::MediaUrl;
use url::Url;

use super::server_access::{requires_server, server_url};
use super::{AccessArguments, BmcAccess, CustomisationArguments, InputFile, OutputFormat, ServerAccess};
use crate::boots::{BootMethod, CredentialsName, Evidence};

/// The examples in the help text.
const EXAMPLES: &str = "\
Examples:
  dayone boot worker-0.yaml --base fedora-coreos-live.iso --media-url http://192.0.2.1:8081
  dayone boot fleet.yaml hosts.csv --host worker-3 --base live.iso --media-url http://192.0.2.1:8081
  dayone boot worker-0.yaml --base fcos --server https://dayone.example:8080 --token-file token --wait";

/// The arguments of `dayone boot`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
Without --server, this program serves the images itself. It keeps serving after the hosts have booted, because a live system \
reads its medium for as long as it runs. Ctrl-C ejects the media, resets the boot override and ends the program; another \
Ctrl-C, at least a second later, leaves the BMCs as they are. With --eject-when-booted, the program ejects the media as soon as \
the hosts have booted, and ends.

With --server, a running dayone server boots the hosts. The program ends when the boots have begun, or with --wait when the \
hosts have booted.

A host has booted when dayone sees one of the signs of --wait-for after it has switched the host on. If dayone cannot tell \
whether a host has booted, it ejects nothing and leaves the boot override as it is.

Exit codes: 0 success, 1 a host did not boot, or dayone cannot use the documents or the image, 2 wrong arguments, or no \
server, 3 dayone cannot tell whether a host has booted, 130 interrupted.

{EXAMPLES}"))]
pub struct BootArguments {
    /// Documents that describe the hosts to boot (each BareMetalHost with its Secret, install-config.yaml, …), or
    /// directories of documents; all files are one set; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub documents: Vec<InputFile>,

    /// Boot only this host: its name, or one of its MAC addresses
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Image to customise, as for build; with --server, the server's name for the base
    #[arg(long, value_name = "BASE")]
    pub base: String,

    /// What to make: iso, minimal-iso, or usb for BMCs that show a disk to the host [default: iso]
    #[arg(long, value_name = "FORMAT")]
    pub image_format: Option<Format>,

    /// How the hosts get the image: virtual-media, or http for UEFI HTTP boot, in which the hosts' firmware fetches it
    /// [default: http if the BMC's address begins with redfish-uefihttp, otherwise virtual-media]
    #[arg(long, value_name = "METHOD")]
    pub method: Option<BootMethod>,

    /// For the method http with Dell and HPE: the firmware's name of the NIC that gets the document's static address, such as
    /// NIC.Integrated.1-1-1 [default: the NIC with the document's MAC address, where the BMC shows that]
    #[arg(long, value_name = "NAME")]
    pub firmware_interface: Option<String>,

    /// Boot although Secure Boot is on at the machine and dayone expects that it refuses the image: for machines on which the
    /// verification in shim is switched off
    #[arg(long)]
    pub ignore_secure_boot: bool,

    /// Replace files that somebody has embedded in the base
    #[arg(long)]
    pub force: bool,

    /// Address of the BMC, as Metal3 writes it; overrides the documents
    #[arg(long, value_name = "ADDRESS")]
    pub bmc: Option<String>,

    /// How to log in.
    #[command(flatten)]
    pub access: BmcAccess,

    /// Sign that a host has booted: call-home, boot-progress, reachable or reading; repeatable, any one of them is enough
    /// [default: call-home if the system has NetworkManager, otherwise boot-progress and reachable]
    #[arg(long, value_name = "SIGN")]
    pub wait_for: Vec<Evidence>,

    /// How long a host may take to boot, in seconds [default: 1800]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub booted_within: Option<u64>,

    /// How long a host may take to shut down before dayone switches it off, in seconds [default: 0]
    #[arg(long, value_name = "SECONDS")]
    pub shutdown_within: Option<u64>,

    /// Leave the medium in, whatever happens
    #[arg(long)]
    pub keep: bool,

    /// Format of the progress and the outcome; json is one line for each change
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,

    /// What to add to the images besides the network.
    #[command(flatten)]
    pub customisation: CustomisationArguments,

    /// Who may read the images.
    #[command(flatten)]
    pub image_access: AccessArguments,

    /// The dayone server that boots the hosts.
    #[command(flatten)]
    pub server: ServerArguments,

    /// How this program serves the images itself.
    #[command(flatten)]
    pub serving: ServingArguments,
}

/// The dayone server that boots the hosts, if there is one.
#[derive(Debug, Args)]
#[command(next_help_heading = "With a dayone server", mut_args(requires_server))]
pub struct ServerArguments {
    /// URL of the server's API, such as `https://dayone.example:8080`
    #[arg(long = "server", value_name = "URL", value_parser = server_url)]
    pub url: Option<Url>,

    /// How to reach the server.
    #[command(flatten)]
    pub access: ServerAccess,

    /// Name of the BMC's credentials on the server
    #[arg(long, value_name = "NAME", requires = "url")]
    pub bmc_credentials: Option<CredentialsName>,

    /// Wait until the hosts have booted
    #[arg(long, requires = "url")]
    pub wait: bool,
}

/// How this program serves the images itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "Without a dayone server")]
pub struct ServingArguments {
    /// Address from which BMCs fetch images [default: [::]:8081, which accepts IPv4, too]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "url")]
    pub media_listen: Option<SocketAddr>,

    /// URL under which BMCs reach that address, such as `http://192.0.2.10:8081` [default: --media-listen, if it is a single
    /// address]
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    pub media_url: Option<MediaUrl>,

    /// Certificate chain (PEM) of that address [default: plain HTTP]
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub media_tls_cert: Option<PathBuf>,

    /// Private key (PEM) of that address
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub media_tls_key: Option<PathBuf>,

    /// Private key (PEM, RSA) of the site, which signs the addons for unified kernel images [default: addons are not signed]
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub site_key: Option<PathBuf>,

    /// Certificate (PEM) of that key, which the `db` of the machines with Secure Boot must have
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub site_certificate: Option<PathBuf>,

    /// Directory for the records of boots; if it has unfinished boots of these hosts, dayone continues them and begins no others
    /// [default: a directory that dayone removes at the end]
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub data_dir: Option<PathBuf>,

    /// Eject the media as soon as the hosts have booted, and end: for systems that no longer need their medium by then
    #[arg(long, conflicts_with_all = ["url", "keep"])]
    pub eject_when_booted: bool,
}
