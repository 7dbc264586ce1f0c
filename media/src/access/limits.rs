//! The limits that somebody orders for an image.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{OnlyFrom, Ttl};

/// The limits on the access to an image. An image without any is served to everybody who has its URL, until it is released.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessLimits {
    /// How long the image is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// How many times each of its files may be read as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_reads: Option<NonZeroU32>,
    /// Who may read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_from: Option<OnlyFrom>,
}

impl AccessLimits {
    /// Whether there is no limit.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
