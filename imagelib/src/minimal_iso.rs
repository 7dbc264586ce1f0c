//! Whether a base has a minimal ISO: a medium without the root file system, which the system fetches over the network.

use serde::Serialize;
use utoipa::ToSchema;
use vocabulary::text_as_serde;

use crate::base::live::MinimalMedium;
use crate::base::{Base, IsoSystem};

/// Whether images of the format `minimal-iso` are possible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = MinimalIso)]
pub struct MinimalIso {
    /// `possible` or `impossible`.
    #[schema(value_type = String, example = "possible")]
    pub verdict: MinimalIsoVerdict,
    /// How the system fetches its root file system, or why it does not.
    pub reason: String,
}

/// Whether a base has a minimal ISO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MinimalIsoVerdict {
    /// The initramfs has everything that fetching needs.
    Possible,
    /// The initramfs certainly lacks something, or the medium cannot be made.
    Impossible,
}

text_as_serde!(MinimalIsoVerdict);

impl MinimalIso {
    /// Examines a base; `None` if it is not a live ISO that dayone can customise.
    pub fn of(base: &Base) -> Option<Self> {
        let Base::Iso(iso) = base else { return None };
        let found = match &iso.system {
            IsoSystem::Coreos(coreos) => match &coreos.minimal {
                Ok(_) => Ok("CoreOS fetches its root file system".to_owned()),
                Err(reason) => Err(reason.clone()),
            },
            IsoSystem::Live(live) if live.is_customised() => return None,
            IsoSystem::Live(live) => match live.minimal() {
                Ok(MinimalMedium { fetched, fetched_by, whole, .. }) => {
                    let what = if *whole { "the whole ISO" } else { "the root file system" };
                    Ok(format!("{fetched_by} fetches {what}, {fetched} bytes, which the host must hold in memory"))
                }
                Err(reason) => Err(reason.to_string()),
            },
            IsoSystem::Other(_) => return None,
        };
        Some(match found {
            Ok(reason) => Self { verdict: MinimalIsoVerdict::Possible, reason },
            Err(reason) => Self { verdict: MinimalIsoVerdict::Impossible, reason },
        })
    }
}
