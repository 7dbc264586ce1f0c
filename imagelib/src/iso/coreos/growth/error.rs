//! Why areas cannot be made larger.

use crate::iso::coreos::CoreosIsoError;
use crate::iso::edit::{EditError, NotEditable};
use crate::overlay::OverlayError;

/// Why an image has no larger areas than those it was published with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotGrowable {
    /// The image cannot be edited.
    #[error(transparent)]
    Image(#[from] NotEditable),
    /// An HFS+ volume beside the ISO 9660 one, whose files are the same bytes.
    #[error("the ISO image is also an HFS+ file system, whose directories dayone cannot update")]
    HfsPlus,
    /// An area in the middle of what a boot loader or firmware loads.
    #[error("it lies in /{0}, of which firmware loads a length that is written into it")]
    BootImage(String),
    /// Areas that no file describes.
    #[error("the ISO image is from before September 2021 and has no /coreos/kargs.json; use a later one")]
    NoDescription,
    /// A file that holds an area and that cannot be edited.
    #[error("/{path} in the ISO image cannot be edited: {reason}")]
    File {
        /// The file.
        path: String,
        /// Why.
        reason: NotEditable,
    },
    /// A file that one of the readers of directories finds and another does not.
    #[error("/{0} is not in the directories of the ISO image")]
    NoFile(String),
}

/// Why something does not go into an image, although its areas might be made larger. Sizes are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrowthError {
    /// It does not fit in the Ignition area.
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
    /// The command line does not fit in the areas for it.
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
    /// A command line that a kernel would cut off.
    #[error(
        "the kernel arguments have {size} bytes in all; boot loader and kernel accept at most {limit}: leave some out"
    )]
    KernelArgumentsTooLong {
        /// How long the command line is.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// It cannot be embedded in the areas that are there.
    #[error(transparent)]
    Areas(#[from] CoreosIsoError),
    /// The image cannot be edited so.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The plan does not fit the image: a mistake in dayone.
    #[error("the image's plan does not fit its base: {0}")]
    Overlay(#[from] OverlayError),
}

impl GrowthError {
    /// How many bytes there are, and for how many there is room, where that is what is wrong.
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
