//! `dayone images`.

use clap::{Args, ValueEnum};
use url::Url;

use super::ServerAccess;
use super::server_access::server_url;

/// The arguments of `dayone images`.
#[derive(Debug, Args)]
#[command(after_help = "\
The URLs are credentials: anyone who has one can read the image, and the keyfiles in it.

Exit codes: 0 success, 1 the server refuses the request, 2 wrong arguments, or no server.

Examples:
  dayone images
  dayone images --host worker-0
  dayone images --server https://dayone.example:8080 --token-file token --format csv > images.csv")]
pub struct ImagesCommandArguments {
    /// URL of the server's API [default: `http://127.0.0.1:8080`]
    #[arg(long = "server", value_name = "URL", value_parser = server_url)]
    pub url: Option<Url>,

    /// How to reach the server.
    #[command(flatten)]
    pub access: ServerAccess,

    /// Only the images of the host with this name
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: ListFormat,
}

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ListFormat {
    /// For people
    #[default]
    Table,
    /// Comma-separated values (RFC 4180)
    Csv,
    /// A JSON array
    Json,
}
