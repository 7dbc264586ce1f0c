//! `dayone key …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::SecretName;

/// `dayone key …`.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Replace the installation key, from which the URLs of all images follow
    Rotate(KeyRotateArguments),
    /// End the grace period of a rotation: URLs of the previous key answer 404
    #[command(after_help = "\
Exit codes: 0 success, 1 the server has not removed the previous key yet, 2 wrong arguments, or the key cannot be changed.

Examples:
  dayone key end-grace
  dayone key end-grace --data-dir /srv/dayone
  dayone key end-grace --key-secret dayone-system/dayone-key")]
    EndGrace(KeyPlace),
    /// Show whether a rotation is under way, and until when URLs of the previous key are valid
    #[command(after_help = "\
Exit codes: 0 success, 2 wrong arguments, or the key cannot be read.

Examples:
  dayone key show
  dayone key show --data-dir /srv/dayone
  dayone key show --key-secret dayone-system/dayone-key")]
    Show(KeyPlace),
}

/// The arguments of `dayone key rotate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Run it as root or as the user of the server. A running server takes the new key over within seconds, a stopped one when it starts. From \
then on, all URLs that it gives out follow from the new key. During the grace period, it also serves the URLs that it gave out before, \
so that boots under way go on. After that, they answer 404.

If somebody else may know the key, give a short grace period: during it, the previous URLs are as readable as before.

Exit codes: 0 success, 1 no server has taken the key over yet, 2 wrong arguments, or the key cannot be replaced.

Examples:
  dayone key rotate
  dayone key rotate --data-dir /srv/dayone --grace-seconds 3600
  dayone key rotate --key-secret dayone-system/dayone-key")]
pub struct KeyRotateArguments {
    /// Where the key is
    #[command(flatten)]
    pub place: KeyPlace,

    /// How long URLs of the previous key stay valid, in seconds; 0 ends them at once, also in the middle of a boot
    #[arg(long, value_name = "SECONDS", default_value_t = 24 * 60 * 60, value_parser = clap::value_parser!(u64).range(..=MAX_GRACE_SECONDS))]
    pub grace_seconds: u64,
}

/// The longest grace period: ninety days.
const MAX_GRACE_SECONDS: u64 = 90 * 24 * 60 * 60;

/// Where the installation key is.
#[derive(Debug, Args)]
pub struct KeyPlace {
    /// The data directory of the server
    #[arg(long, env = "DAYONE_DATA_DIR", value_name = "DIR", default_value = "/var/lib/dayone")]
    pub data_dir: PathBuf,

    /// The file with the keys that encrypt the data directory, if the server has one
    #[arg(long, env = "DAYONE_DATA_KEY_FILE", value_name = "FILE")]
    pub data_key_file: Option<PathBuf>,

    /// The Secret with the key of `dayone controller`, instead of a data directory
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub key_secret: Option<SecretName>,

    /// How to reach the API server of Kubernetes [default: as kubectl does, or as the service account of the Pod]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}
