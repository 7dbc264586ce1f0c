//! The canonical form of everything that goes into an image. Its SHA-256 is the image's id.

mod data;
mod order;
mod rootfs;
mod sealed;
mod signatures;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::{BaseIdentity, Format};
use crate::delivery::DeliveryProfile;
use crate::digest::{Digest, DigestError};
use crate::ignition::{Additions, UserConfig};
use crate::kernel_arguments::KernelArgumentEdits;
use vocabulary::network_files::InitramfsNetwork;

pub use data::{DataDrive, DriveFile};
pub use order::PartOrder;
pub use rootfs::{RootfsLocation, RootfsUrl, RootfsUrlError};
pub use sealed::{RecipeError, SealedRecipe, VERSIONS};
pub use signatures::{AddonSignatures, SignatureBytes};

/// Everything that determines an image's bytes. Equal recipes give equal images on every machine and at any time. The
/// canonical form ([`SealedRecipe`]) is what dayone stores and what the id is computed from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The base that the image is made over.
    pub base: BaseIdentity,
    /// The format of the image.
    pub format: Format,
    /// What to add to the base's system.
    pub additions: Additions,
    /// The user's own Ignition config, which is merged with the additions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignition: Option<UserConfig>,
    /// Changes to the base's kernel arguments.
    #[serde(default, skip_serializing_if = "KernelArgumentEdits::is_empty")]
    pub kernel_arguments: KernelArgumentEdits,
    /// The titles of the boot entries that get the kernel arguments and the additions. Empty for all entries.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub boot_entries: BTreeSet<String>,
    /// The delivery profile, if the detected one is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryProfile>,
    /// Where the system fetches its root file system from. `None` if the user's kernel arguments determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<RootfsLocation>,
    /// The network by which an initramfs fetches it that gets no keyfiles: live-boot's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initramfs_network: Option<InitramfsNetwork>,
    /// The content of a data image, whose base is [`Base::Nothing`](crate::base::Base::Nothing).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataDrive>,
    /// The signatures of the addons for unified kernel images. `None` if the site has no key, and for images without addons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addon_signatures: Option<AddonSignatures>,
    /// Whether dayone may replace a configuration that the base already carries.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace_embedded: bool,
    /// The order of the parts whose order has no meaning.
    #[serde(skip)]
    pub order: PartOrder,
}

impl Recipe {
    /// Whether the image holds its own URL, so that its bytes depend on its token.
    pub fn holds_its_url(&self) -> bool {
        matches!(self.rootfs, Some(RootfsLocation::MediaPlane(_)))
    }

    /// The recipe of an image with these additions and no other changes.
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
            initramfs_network: None,
            data: None,
            addon_signatures: None,
            replace_embedded: false,
            order: PartOrder::default(),
        }
    }

    /// Whether the system in the image gets neither files nor kernel arguments.
    pub(crate) fn changes_nothing(&self) -> bool {
        self.kernel_arguments.is_empty() && !self.has_files()
    }

    /// Whether the system in the image gets files or an Ignition config.
    pub(crate) fn has_files(&self) -> bool {
        !self.additions.is_empty() || self.ignition.is_some()
    }

    /// The same recipe with its parts in canonical order.
    #[must_use]
    pub fn in_canonical_order(&self) -> Self {
        Self { order: PartOrder::Canonical, ..self.clone() }
    }
}

/// The id of a recipe, and so of its image: the SHA-256 of the canonical form. It is not a secret, and does not give access
/// to the image.
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
