//! How a command reaches a dayone server.

use std::path::PathBuf;

use clap::Args;

/// How a command reaches a dayone server.
#[derive(Debug, Args)]
pub struct ServerAccess {
    /// File with the server's bearer token [default: the variable `DAYONE_API_TOKEN`]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub token_file: Option<PathBuf>,

    /// Certificates (PEM) that verify the server [default: this system's certificate authorities]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub server_ca: Option<PathBuf>,

    /// Client certificate with its key (PEM), for a server that requires one
    #[arg(long, value_name = "FILE", requires = "url")]
    pub client_cert: Option<PathBuf>,
}
