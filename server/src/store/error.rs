//! Errors of the store.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use imagelib::image::ImageError;
use media::NotAName;

use super::data_keys::DecryptError;
use super::definition::{BaseName, DefinitionError};
use super::directory::DirectoryError;
use super::key::KeyError;
use super::open_base::OpenBaseError;
use super::packed_recipe::UnpackError;
use super::storage::StorageTrouble;

/// Why the store cannot be opened. The texts name files: they are for the operator who starts the server.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The data directory cannot be used.
    #[error("the data directory cannot be used: {0}")]
    Directory(#[from] DirectoryError),
    /// The keys for the files in the data directory do not fit.
    #[error(
        "{}{}: {reason}", path.display(),
        if *others > 0 { format!(" (and {others} more files in the data directory)") } else { String::new() }
    )]
    Encrypted {
        /// The first such file.
        path: PathBuf,
        /// Why dayone cannot decrypt it.
        reason: DecryptError,
        /// How many more such files there are.
        others: usize,
    },
    /// The installation key cannot be used.
    #[error("the installation key {}: {source}", path.display())]
    Key {
        /// The file of the key.
        path: PathBuf,
        /// The reason.
        source: KeyError,
    },
    /// There are images or boots but no key.
    #[error(
        "the installation key {} is missing, but there are records in {}: with a new key, the URLs of all images would change, and dayone \
         could not undo boots at their BMCs; restore the key from a backup, or start again: eject the media of the boots (`dayone eject`), \
         and move the records away", path.display(), shown(records)
    )]
    KeyMissing {
        /// The file of the key.
        path: PathBuf,
        /// The directories of the records that depend on it.
        records: Vec<PathBuf>,
    },
    /// The definitions of the bases contradict each other.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A configured base has the name of one that was added while the server ran.
    #[error(
        "the base '{0}' is configured, and a base of this name was added with `dayone base add`: give the configured one another \
         name, or start without it and remove the added one with `dayone base rm {0}`"
    )]
    BaseTwice(BaseName),
    /// A base cannot be used, and there are no images yet for which the server should start without it.
    #[error("base '{name}' cannot be used: {source}")]
    Base {
        /// The name of the base.
        name: BaseName,
        /// The reason.
        source: OpenBaseError,
    },
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and ")
}

/// Why an image cannot be published or released.
///
/// The texts name no file of the server: they are for the client. The log gets the chain of
/// [`source`](std::error::Error::source)s.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No base has this name.
    #[error("there is no base named {0:?}")]
    UnknownBase(String),
    /// The base is configured, but cannot be used at the moment.
    #[error("the base '{name}' is not available at the moment; the server's readiness says why")]
    BaseUnavailable {
        /// The name of the base.
        name: BaseName,
        /// The reason, for the log.
        #[source]
        reason: Unavailable,
    },
    /// The base was replaced after the recipe was made.
    #[error("the base '{0}' was replaced by another image while this one was made; try again")]
    BaseReplaced(BaseName),
    /// The owner's name cannot be in an image's URL.
    #[error("{name:?} cannot be the name of an image: {reason}")]
    Name {
        /// The owner's name.
        name: String,
        /// The reason.
        reason: NotAName,
    },
    /// The recipe gives no image. The client can correct that.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Another version of dayone has published the image, with other bytes, or it was published under an installation key that is gone.
    #[error(
        "an image of the same content was published with other bytes, by another version of dayone or with another installation key; \
         release it and publish it again"
    )]
    OtherBytes,
    /// The image was published already, and its record cannot be read.
    #[error(
        "an image of the same content was published, but its record cannot be read; release it and publish it again"
    )]
    Unreadable,
    /// A mistake in dayone.
    #[error("the image cannot be stored: this is a mistake in dayone, please report it with the server's log")]
    Internal(#[source] Unavailable),
    /// The record cannot be written, read back or removed.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
}

/// A reason, for the log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

impl From<UnpackError> for StoreError {
    fn from(error: UnpackError) -> Self {
        Self::internal(&error)
    }
}

impl StoreError {
    /// A mistake in dayone.
    pub(super) fn internal(error: &dyn Error) -> Self {
        Self::Internal(Unavailable(error.to_string()))
    }
}
