//! What can go wrong with the store.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use imagelib::image::ImageError;
use media::NotAName;

use super::definition::{BaseName, DefinitionError};
use super::directory::DirectoryError;
use super::key::KeyError;
use super::open_base::OpenBaseError;
use super::storage::StorageTrouble;

/// Why the store cannot be opened. For the operator who starts the server: it names files.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The data directory cannot be used.
    #[error("the data directory cannot be used: {0}")]
    Directory(#[from] DirectoryError),
    /// The installation key cannot be used.
    #[error("the installation key {}: {source}", path.display())]
    Key {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: KeyError,
    },
    /// There are images but no key.
    #[error(
        "the installation key {} is missing, but there are images in {}: with a new key their URLs would all change; \
         restore the key from a backup, or move the images away to begin anew", path.display(), images.display()
    )]
    KeyMissing {
        /// Where it should be.
        path: PathBuf,
        /// Where the images are.
        images: PathBuf,
    },
    /// The bases contradict each other.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// A base that does not work, at a start where nothing depends on going on without it.
    #[error("base '{name}' cannot be used: {source}")]
    Base {
        /// Its name.
        name: BaseName,
        /// Why.
        source: OpenBaseError,
    },
}

/// Why an image cannot be published or released.
///
/// What is displayed is for the client that asked: it names no file of the server. The whole story, for the log, is
/// the chain of [`source`](std::error::Error::source)s.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Not a base's name.
    #[error("there is no base named {0:?}")]
    UnknownBase(String),
    /// The base is configured, but cannot be used at the moment.
    #[error("the base '{name}' is not available at the moment; the server's readiness says why")]
    BaseUnavailable {
        /// Its name.
        name: BaseName,
        /// Why, for the log.
        #[source]
        reason: Unavailable,
    },
    /// The recipe was written for what the base was a moment ago.
    #[error("the base '{0}' was replaced by another image while this one was made; try again")]
    BaseReplaced(BaseName),
    /// An owner that cannot be the name of an image in its URL.
    #[error("{name:?} cannot be the name of an image: {reason}")]
    Name {
        /// The owner's name.
        name: String,
        /// Why not.
        reason: NotAName,
    },
    /// The recipe cannot become an image: the client's to mend.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The image was published already, by a version of dayone that made other bytes of it.
    #[error("an image of the same content was published by another version of dayone; release it and publish it again")]
    OtherBytes,
    /// The image was published already, and its record cannot be read.
    #[error(
        "an image of the same content was published, but its record cannot be read; release it and publish it again"
    )]
    Unreadable,
    /// A mistake in dayone.
    #[error("the image cannot be kept: this is a mistake in dayone, please report it with the server's log")]
    Internal(#[source] Unavailable),
    /// The record cannot be written, read back or removed.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
}

/// A reason in words, for the log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

impl StoreError {
    /// A mistake in dayone.
    pub(super) fn internal(error: &dyn Error) -> Self {
        Self::Internal(Unavailable(error.to_string()))
    }
}
