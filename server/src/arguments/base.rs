//! `dayone base`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use imagelib::base::Role;
use imagelib::delivery::DeliveryProfile;
use imagelib::digest::{Digest, DigestError};
use url::Url;

use super::server_access::server_url;
use super::{ListFormat, OutputFormat, ServerAccess, path_to_write};
use crate::store::{BaseName, Location};

/// The examples in the help text of `dayone base add`.
const ADD_EXAMPLES: &str = "\
Examples:
  dayone base add fcos --stream stable
  dayone base add fcos https://images.example.com/live.iso --sha256 9f86d0…
  dayone base add rhcos https://images.example.com/live.iso --signature https://images.example.com/live.iso.sig
  dayone base add local /srv/images/live.iso
  dayone base add ipa kernel:https://images.example.com/ipa.kernel,initrd:https://images.example.com/ipa.initramfs --sha256 kernel:9f86d0… --sha256 initrd:60303a…";

/// The examples in the help text of `dayone base fetch`.
const FETCH_EXAMPLES: &str = "\
Examples:
  dayone base fetch --stream stable -o fedora-coreos-live.iso
  dayone base fetch https://images.example.com/live.iso -o live.iso --sha256 9f86d0…
  dayone base fetch https://images.example.com/live.iso -o live.iso --signature https://images.example.com/live.iso.sig --keys keys.asc";

/// A command about bases.
#[derive(Debug, Subcommand)]
pub enum BaseCommand {
    /// Add a base to a server while it runs, or replace one
    Add(BaseAddArguments),
    /// Fetch a base into a file, and verify it
    Fetch(BaseFetchArguments),
    /// List the bases of a server
    List(BaseListArguments),
    /// Remove a base from a server
    Rm(BaseRmArguments),
}

/// The arguments of `dayone base add`.
#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES, after_long_help = format!("\
The server fetches the files and verifies them. The command waits until the base is available, and shows the progress. If you \
interrupt the command, the server goes on; the same command follows it again.

If a base of this name was added before, the new one replaces it: new images are made from the new one, and images that exist keep \
the old one, with their URLs and bytes. The server removes the old one when no image uses it any more.

A URL needs --sha256 or --signature. The server must allow it (serve --base-source).

Exit codes: 0 the base is available, 1 the server refuses the base or cannot fetch it, or somebody stops the fetch or orders another \
base of this name, 2 wrong arguments, or no server.

{ADD_EXAMPLES}"))]
pub struct BaseAddArguments {
    /// Name of the base
    #[arg(value_name = "NAME")]
    pub name: BaseName,

    /// URL, or absolute path on the server, of an ISO; or `kernel:SOURCE,initrd:SOURCE[,rootfs:SOURCE]…`
    #[arg(value_name = "SOURCE", required_unless_present_any = ["stream", "metadata"])]
    pub source: Option<String>,

    /// How the files are verified.
    #[command(flatten)]
    pub proof: ProofArguments,

    /// A release of CoreOS.
    #[command(flatten)]
    pub stream: StreamArguments,

    /// How the system receives what dayone adds, if its initramfs does not show that
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<DeliveryProfile>,

    /// Do not wait until the base is available
    #[arg(long)]
    pub no_wait: bool,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,

    /// URL of the server's API [default: `http://127.0.0.1:8080`]
    #[arg(long = "server", value_name = "URL", value_parser = server_url)]
    pub url: Option<Url>,

    /// How to reach the server.
    #[command(flatten)]
    pub access: ServerAccess,
}

/// How files are verified.
#[derive(Debug, Args)]
pub struct ProofArguments {
    /// SHA-256 of the file; of one of several: `ROLE:DIGEST`, repeatable
    #[arg(long, value_name = "[ROLE:]DIGEST", value_parser = published_of_role)]
    pub sha256: Vec<OfRole<Digest>>,

    /// URL or absolute path of the file's detached GPG signature; of one of several: `ROLE:SOURCE`, repeatable
    #[arg(long, value_name = "[ROLE:]SOURCE")]
    pub signature: Vec<OfRole<Location>>,
}

/// A release of CoreOS, in place of a source.
#[derive(Debug, Args)]
pub struct StreamArguments {
    /// Stream of Fedora CoreOS whose newest live ISO to take: `stable`, `testing` or `next`
    #[arg(long, value_name = "STREAM", conflicts_with_all = ["source", "sha256", "signature"])]
    pub stream: Option<String>,

    /// Stream metadata (JSON), as a URL or a file, such as `openshift-install coreos print-stream-json` prints
    #[arg(long = "stream-metadata", value_name = "URL|FILE", conflicts_with_all = ["source", "sha256", "signature", "stream"])]
    pub metadata: Option<String>,

    /// Architecture of the release in a stream
    #[arg(long, value_name = "ARCHITECTURE", default_value = "x86_64")]
    pub architecture: String,
}

/// A value for one file of a base, or for its only file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfRole<T> {
    /// The file.
    pub role: Option<Role>,
    /// The value.
    pub value: T,
}

impl<T> OfRole<T> {
    fn read<E>(text: &str, value: impl FnOnce(&str) -> Result<T, E>) -> Result<Self, E> {
        let of_role = text.split_once(':').and_then(|(word, rest)| Some((Role::of_word(word)?, rest)));
        match of_role {
            Some((role, rest)) => Ok(Self { role: Some(role), value: value(rest)? }),
            None => Ok(Self { role: None, value: value(text)? }),
        }
    }
}

impl<T: FromStr> FromStr for OfRole<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        Self::read(text, str::parse::<T>)
    }
}

/// Reads a digest as publishers print it: some use capital letters.
fn published(text: &str) -> Result<Digest, DigestError> {
    text.parse().or_else(|error| text.to_ascii_lowercase().parse().map_err(|_| error))
}

fn published_of_role(text: &str) -> Result<OfRole<Digest>, DigestError> {
    OfRole::read(text, published)
}

/// The arguments of `dayone base fetch`.
#[derive(Debug, Args)]
#[command(after_help = FETCH_EXAMPLES, after_long_help = format!("\
The file appears when it is complete and verified. Until then, what has arrived is in FILE.partial: if you run the command again, it \
continues there. A file that is there and has the SHA-256 is not fetched again.

Give --sha256, --signature or both. Signatures are verified with the keys of Fedora and Red Hat that dayone contains, or with those in \
--keys.

Exit codes: 0 the file is there, 1 it cannot be fetched or verified, 2 wrong arguments, or dayone cannot write the file.

{FETCH_EXAMPLES}"))]
pub struct BaseFetchArguments {
    /// URL of the file
    #[arg(value_name = "URL", required_unless_present_any = ["stream", "metadata"])]
    pub source: Option<Location>,

    /// File to write
    #[arg(short = 'o', long = "output", value_name = "FILE", value_parser = path_to_write())]
    pub output: PathBuf,

    /// SHA-256 of the file
    #[arg(long, value_name = "DIGEST", value_parser = published)]
    pub sha256: Option<Digest>,

    /// URL or absolute path of the file's detached GPG signature
    #[arg(long, value_name = "SOURCE")]
    pub signature: Option<Location>,

    /// A release of CoreOS.
    #[command(flatten)]
    pub stream: StreamArguments,

    /// File with the GPG keys that may have signed the file, in place of Fedora's and Red Hat's; repeatable
    #[arg(long, value_name = "FILE")]
    pub keys: Vec<PathBuf>,

    /// Certificates (PEM) that verify the server of the file [default: this system's certificate authorities]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// Replace an existing file that is another one
    #[arg(long)]
    pub force: bool,

    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// The arguments of `dayone base list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 success, 1 the server refuses the request, 2 wrong arguments, or no server.

Examples:
  dayone base list
  dayone base list --format json
  dayone base list --server https://dayone.example:8080 --token-file token")]
pub struct BaseListArguments {
    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: ListFormat,

    /// URL of the server's API [default: `http://127.0.0.1:8080`]
    #[arg(long = "server", value_name = "URL", value_parser = server_url)]
    pub url: Option<Url>,

    /// How to reach the server.
    #[command(flatten)]
    pub access: ServerAccess,
}

/// The arguments of `dayone base rm`.
#[derive(Debug, Args)]
#[command(after_help = "\
The server refuses to remove a base that images use. Delete the images first.

Exit codes: 0 the base is removed, 1 the server refuses that, or has no such base, 2 wrong arguments, or no server.

Examples:
  dayone base rm fcos
  dayone base rm fcos --server https://dayone.example:8080 --token-file token
  dayone base rm fcos --fetch-only")]
pub struct BaseRmArguments {
    /// Name of the base
    #[arg(value_name = "NAME")]
    pub name: BaseName,

    /// Only stop fetching the next version, or forget that fetching it has failed
    #[arg(long)]
    pub fetch_only: bool,

    /// URL of the server's API [default: `http://127.0.0.1:8080`]
    #[arg(long = "server", value_name = "URL", value_parser = server_url)]
    pub url: Option<Url>,

    /// How to reach the server.
    #[command(flatten)]
    pub access: ServerAccess,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_for_one_file_or_for_the_only_one() {
        let digest = Digest::of(b"x");
        assert_eq!(digest.to_string().parse(), Ok(OfRole { role: None, value: digest }));
        assert_eq!(format!("kernel:{digest}").parse(), Ok(OfRole { role: Some(Role::Kernel), value: digest }));
        assert!(format!("ramdisk:{digest}").parse::<OfRole<Digest>>().is_err());
        let capital = digest.to_string().to_uppercase();
        assert_eq!(published(&capital), Ok(digest));
        let kernel = OfRole { role: Some(Role::Kernel), value: digest };
        assert_eq!(published_of_role(&format!("kernel:{capital}")), Ok(kernel));
        assert!(published("ABC").unwrap_err().to_string().contains("\"ABC\""));
        let url: Location = "https://example.com/a.sig".parse().unwrap();
        assert_eq!("https://example.com/a.sig".parse(), Ok(OfRole { role: None, value: url.clone() }));
        assert_eq!("iso:https://example.com/a.sig".parse(), Ok(OfRole { role: Some(Role::Iso), value: url }));
    }
}
