//! The limits on the access to an image as the API shows them.

use media::access::{ImageAccess, OnlyFrom};
use media::reading::Time;
use serde::Serialize;
use utoipa::ToSchema;

/// The limits on the access to an image.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ImageAccess)]
pub(crate) struct AccessBody {
    /// When the image ends (RFC 3339): from then on, its URLs answer 404, and the server removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-03-01T03:59:59Z", format = DateTime)]
    ends: Option<String>,
    /// How many times each of its files may be read as a whole; `files` has how often they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 4_294_967_295_u64)]
    max_reads: Option<u32>,
    /// The networks whose clients may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["192.0.2.0/24"]))]
    only_from: Option<Vec<String>>,
}

impl From<&ImageAccess> for AccessBody {
    fn from(access: &ImageAccess) -> Self {
        let limits = access.limits();
        let networks = limits.only_from.as_ref().map(OnlyFrom::networks);
        Self {
            ends: access.ends().map(|ends| Time(ends).to_string()),
            max_reads: limits.max_reads.map(Into::into),
            only_from: networks.map(|networks| networks.iter().map(ToString::to_string).collect()),
        }
    }
}
