//! The canonical form of all that goes into an image. Its digest is what the image is.

mod data;
mod order;
mod rootfs;
mod sealed;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::{BaseIdentity, Format};
use crate::delivery::DeliveryProfile;
use crate::digest::{Digest, DigestError};
use crate::ignition::{Additions, UserConfig};
use crate::kernel_arguments::KernelArgumentEdits;

pub use data::{DataDrive, DriveFile};
pub use order::PartOrder;
pub use rootfs::{RootfsLocation, RootfsUrl, RootfsUrlError};
pub use sealed::{RecipeError, SealedRecipe};

/// All that decides an image's bytes. Equal recipes give equal images, on every machine and at any time. What is stored
/// and identified is its canonical form: see [`SealedRecipe`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The base that the image is made over.
    pub base: BaseIdentity,
    /// What kind of image it is.
    pub format: Format,
    /// What is added to the base's system.
    pub additions: Additions,
    /// The user's own Ignition config, merged with ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignition: Option<UserConfig>,
    /// What becomes of the base's kernel arguments.
    #[serde(default, skip_serializing_if = "KernelArgumentEdits::is_empty")]
    pub kernel_arguments: KernelArgumentEdits,
    /// The titles of the boot entries that get the changed kernel arguments and what is added to the system; none: all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub boot_entries: BTreeSet<String>,
    /// How the system takes what is added, where that is not as its initramfs says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryProfile>,
    /// Where a system that fetches its root file system does so from; without it, that is left to the user's kernel arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<RootfsLocation>,
    /// What is on a data image, which has the base of no files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataDrive>,
    /// Whether what the base already carries in its embed areas may be replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace_embedded: bool,
    /// In which order its parts stand that could stand in any.
    #[serde(skip)]
    pub order: PartOrder,
}

impl Recipe {
    /// The recipe of an image with these additions, and nothing else changed.
    pub fn new(base: BaseIdentity, format: Format, additions: Additions) -> Self {
        Self {
            base,
            format,
            additions,
            ignition: None,
            kernel_arguments: KernelArgumentEdits::default(),
            boot_entries: BTreeSet::new(),
            delivery: None,
            rootfs: None,
            data: None,
            replace_embedded: false,
            order: PartOrder::default(),
        }
    }

    /// The recipe of the same content whose parts are in canonical order.
    #[must_use]
    pub fn in_canonical_order(&self) -> Self {
        Self { order: PartOrder::Canonical, ..self.clone() }
    }
}

/// The identity of a recipe, and so of its image: the SHA-256 of the canonical form. Not a secret, and not enough to
/// get at the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecipeId(Digest);

impl RecipeId {
    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl FromStr for RecipeId {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for RecipeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
