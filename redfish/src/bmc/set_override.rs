//! A boot override that was set, as records keep it.

use serde::{Deserialize, Serialize};

use super::attempt::Attempt;
use super::boot_order::BootOrder;
use super::boot_override::OverrideForm;
use super::first_boot_device::FirstBootDevice;
use super::http_uri::HttpUri;
use super::state::BootSource;

/// A boot override that was set, with what [`Bmc::restore`](super::Bmc::restore) needs to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootOverride {
    /// The System's path.
    pub system: String,
    /// The previous override.
    #[serde(rename = "before")]
    pub previous: BootSource,
    /// The form that the BMC accepted.
    pub form: OverrideForm,
    /// `HttpBootUri` before, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_uri: Option<HttpUri>,
    /// The boot order before and now, if that was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<BootOrder>,
    /// An iDRAC's attributes before, if the plan changes them. Records of older versions do not have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_device: Option<FirstBootDevice>,
    /// The override that the BMC showed then. Empty for [`OverrideForm::DellAttributes`].
    pub shown: BootSource,
    /// What the BMC has made of it. Records of older versions do not say that.
    #[serde(default, skip_serializing_if = "Reception::is_unknown")]
    pub reception: Reception,
    /// Whether the override ends after one boot. If not, the host boots from the medium until the previous override is
    /// restored.
    pub once: bool,
    /// Sentences about anything unusual.
    pub notes: Vec<String>,
    /// Every request that was sent, including those that the BMC refused.
    pub attempts: Vec<Attempt>,
}

impl BootOverride {
    /// Whether something stays changed for ever if it is not restored. Everything else ends with the host's next boot.
    pub fn is_lasting(&self) -> bool {
        let device = self.first_device.as_ref().filter(|_| matches!(self.form, OverrideForm::DellAttributes { .. }));
        !self.once || self.order.is_some() || device.is_some_and(FirstBootDevice::is_lasting)
    }
}

/// What a BMC has made of an override.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reception {
    /// It is not known whether the BMC has it.
    #[default]
    Unknown,
    /// The BMC accepted it, and did not show it.
    Accepted,
    /// The BMC showed it. If it no longer does, the host has used it up, or somebody has changed it.
    Shown,
}

impl Reception {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
    fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    pub(super) fn of(is_shown: bool) -> Self {
        if is_shown { Self::Shown } else { Self::Accepted }
    }
}
