//! Why a request about a base is refused.

use std::io;

use super::allowed::NotAllowed;
use crate::store::{AddBaseError, RemoveBaseError, SourceError, StorageTrouble};

/// Why a base cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// A source is not valid.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The server may not fetch it.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The store refuses it.
    #[error(transparent)]
    Store(#[from] AddBaseError),
    /// The record cannot be written.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Internal(#[from] io::Error),
}

/// Why a base cannot be removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// The store refuses it.
    #[error(transparent)]
    Store(#[from] RemoveBaseError),
    /// The record cannot be removed.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
}
