//! Why a service does not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use media::MediaUrlError;
use tokio::task::JoinError;

use super::ConfigError;
use crate::audit::AuditError;
use crate::host_images::BuildError;
use crate::kubernetes::{ConnectError, InstallationKeyError};
use crate::store::{KeyError, OpenError};

/// Why a service does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The service cannot listen on an address.
    #[error("cannot listen on {address} for {plane}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the service would serve there.
        plane: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// BMCs cannot use the address that the service listens on.
    #[error("--media-listen gives no URL for BMCs: {0}")]
    MediaUrl(#[from] MediaUrlError),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// Bases cannot be watched.
    #[error("cannot start the thread that watches bases: {0}")]
    Watch(io::Error),
    /// The audit log cannot be written.
    #[error(transparent)]
    Audit(AuditError),
    /// The records of boots cannot be read.
    #[error("cannot read the records of boots in the data directory: {0}")]
    Boots(io::Error),
    /// The client that fetches bases cannot be made.
    #[error("cannot make the HTTP client that fetches bases: {0}")]
    Fetches(String),
    /// There is no configuration for the API server.
    #[error("cannot tell how to reach the Kubernetes API server: {0}")]
    Cluster(ConnectError),
    /// The key for images' URLs cannot be read or created in Kubernetes.
    #[error(transparent)]
    ClusterKey(#[from] InstallationKeyError),
    /// The key for images' URLs cannot be created.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The directory of documents, or a file in it, cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The directory or the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Two documents would be served under one name.
    #[error(
        "{} and {} would both be served as {name}.iso: rename one of them",
        first.display(), second.display()
    )]
    SameName {
        /// One document.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// The name of their images, without a suffix.
        name: String,
    },
    /// No image can be made from a document.
    #[error("{}: {source}", path.display())]
    Image {
        /// The document.
        path: PathBuf,
        /// The reason.
        source: BuildError,
    },
    /// The system gives no random numbers.
    #[error("cannot get random numbers: {0}")]
    Random(getrandom::Error),
    /// A mistake in dayone.
    #[error("opening the bases and images failed: {0}")]
    Internal(#[from] JoinError),
}
