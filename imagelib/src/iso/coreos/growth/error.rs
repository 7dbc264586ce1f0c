//! Errors about larger areas.

use crate::iso::coreos::CoreosIsoError;
use crate::iso::edit::{EditError, NotEditable};
use crate::overlay::OverlayError;

/// Why dayone cannot enlarge an area of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotGrowable {
    /// The image cannot be edited.
    #[error(transparent)]
    Image(#[from] NotEditable),
    /// The image is also an HFS+ volume, which shares the bytes of its files.
    #[error("the ISO image is also an HFS+ file system, whose directories dayone cannot update")]
    HfsPlus,
    /// The area is part of a file that a boot loader or firmware loads.
    #[error("it lies in /{0}, of which firmware loads a length that is written into it")]
    BootImage(String),
    /// No file describes the areas.
    #[error("the ISO image has no /coreos/kargs.json, as later releases have; use a later one")]
    NoDescription,
    /// dayone cannot edit a file that contains an area.
    #[error("/{path} in the ISO image cannot be edited: {reason}")]
    File {
        /// The file.
        path: String,
        /// Why.
        reason: NotEditable,
    },
    /// The editor does not find a file in the directories.
    #[error("/{0} is not in the directories of the ISO image")]
    NoFile(String),
}

/// Why dayone cannot embed something in an image, even with larger areas. Sizes and limits are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrowthError {
    /// The archive does not fit into the Ignition area, which cannot grow.
    #[error(
        "the archive to embed has {size} bytes, the ISO image has room for {capacity}, and dayone cannot enlarge its \
         area: {reason}; shorten the Ignition config, or let it fetch its larger parts"
    )]
    Ignition {
        /// How much it is.
        size: u64,
        /// The size of the area.
        capacity: u64,
        /// Why the area stays as it is.
        reason: NotGrowable,
    },
    /// The command line does not fit into the areas for it, which cannot grow.
    #[error(
        "the kernel arguments have {size} bytes in all, the ISO image has room for {capacity}, and dayone cannot \
         enlarge its areas: {reason}"
    )]
    KernelArguments {
        /// How long the command line is.
        size: u64,
        /// What there is room for.
        capacity: u64,
        /// Why the areas stay as they are.
        reason: NotGrowable,
    },
    /// The kernel would cut the command line off.
    #[error(
        "the kernel arguments have {size} bytes in all; boot loader and kernel accept at most {limit}: leave some out"
    )]
    KernelArgumentsTooLong {
        /// How long the command line is.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// Embedding in the existing areas failed.
    #[error(transparent)]
    Areas(#[from] CoreosIsoError),
    /// dayone cannot edit the image in this way.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The plan does not fit the image. This is a mistake in dayone.
    #[error("the image's plan does not fit its base: {0}")]
    Overlay(#[from] OverlayError),
}

impl GrowthError {
    /// The size of the data and the available room in bytes, if the error is about room.
    pub fn sizes(&self) -> Option<(u64, u64)> {
        match *self {
            Self::Ignition { size, capacity, .. }
            | Self::KernelArguments { size, capacity, .. }
            | Self::KernelArgumentsTooLong { size, limit: capacity }
            | Self::Areas(
                CoreosIsoError::ArchiveTooLarge { size, capacity }
                | CoreosIsoError::KernelArgumentsTooLong { size, capacity },
            ) => Some((size, capacity)),
            Self::Areas(_) | Self::Edit(_) | Self::Overlay(_) => None,
        }
    }
}
