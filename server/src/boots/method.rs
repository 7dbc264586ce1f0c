//! The ways in which a host gets its image.

use serde::{Deserialize, Serialize};
use vocabulary::text_as_serde;

/// How a host gets its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootMethod {
    /// The BMC reads the image, and shows it to the host as a drive.
    #[default]
    VirtualMedia,
    /// The host's firmware fetches the image into its memory (UEFI HTTP boot).
    Http,
}

impl BootMethod {
    /// Whether this is the default, which records leave out.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A text is not a boot method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither virtual-media nor http")]
pub struct NotABootMethod(String);

text_as_serde!(BootMethod, NotABootMethod);
