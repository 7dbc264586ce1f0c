//! Fetches bases: from URLs and from paths of the server, verified by digests and signatures.
//!
//! A base that is to be fetched is a record in the store, and a task that fetches its files and takes the base into service. A
//! restarted server continues where the partial files end.

mod allowed;
mod answer;
mod beginning;
mod copy;
mod download;
mod error;
mod fetch;
mod final_error;
mod metrics;
mod openpgp;
mod partial_file;
mod progress;
mod request_error;
mod service;
mod settings;
mod space;

pub use allowed::{AllowedSource, AllowedSourceError, AllowedSources, DEFAULT_SOURCE, NotAllowed};
pub(crate) use download::Downloader;
pub use download::Patience;
pub use error::FetchError;
pub(crate) use fetch::{Fetcher, Order, digest_of};
pub use metrics::FetchMetrics;
pub use openpgp::{Keyring, KeyringError, SignatureError};
pub use progress::{FetchProgress, Phase, ProgressSnapshot};
pub use request_error::{AddError, RemoveError};
pub use service::{Added, BaseFetches, Unfinished};
pub use settings::{DEFAULT_LIMIT, FetchSettings};
pub(crate) use space::Readers;
