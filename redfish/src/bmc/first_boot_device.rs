//! An iDRAC's attributes for the first boot device (`ServerBoot.1`). They are not part of `Boot`, which does not show them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Bmc;
use super::error::BmcError;

const ONCE: &str = "ServerBoot.1.BootOnce";
const DEVICE: &str = "ServerBoot.1.FirstBootDevice";

/// The device for the firmware's own boot order.
const NORMAL: &str = "Normal";

/// The attributes as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstBootDevice {
    /// `Enabled` if the device is for one boot, and `Disabled` if it is for every boot.
    pub once: Option<String>,
    /// The device. The firmware's own order has the name `Normal`.
    pub device: Option<String>,
}

impl FirstBootDevice {
    /// Whether somebody has set a device for every boot.
    pub(super) fn is_lasting(&self) -> bool {
        self.once.as_deref() != Some("Enabled") && self.device.as_deref().is_some_and(|device| device != NORMAL)
    }
}

/// The body that sets the attributes.
pub(super) fn body(once: &str, device: &str) -> Value {
    json!({"Attributes": {ONCE: once, DEVICE: device}})
}

impl Bmc {
    /// Restores the attributes from before, or the firmware's own order if they are not known. Returns whether that was necessary:
    /// dayone's device is still there, or the host has used it up and the firmware has forgotten a device for every boot with that.
    pub(super) async fn restore_first_device(
        &self,
        path: &str,
        device: &str,
        before: Option<&FirstBootDevice>,
    ) -> Result<bool, BmcError> {
        let now = self.first_boot_device(path).await?;
        let is_ours = now.device.as_deref() == Some(device);
        let has_forgotten = now.device.as_deref() == Some(NORMAL) && before.is_some_and(FirstBootDevice::is_lasting);
        if !(is_ours || has_forgotten) || Some(&now) == before {
            return Ok(false);
        }
        let once = before.and_then(|before| before.once.as_deref()).unwrap_or("Disabled");
        let earlier = before.and_then(|before| before.device.as_deref()).unwrap_or(NORMAL);
        self.client().update(path, &body(once, earlier), None, self.limits().change).await?;
        Ok(true)
    }

    /// Reads the attributes. Without the resource, nothing is known.
    pub(super) async fn first_boot_device(&self, path: &str) -> Result<FirstBootDevice, BmcError> {
        let resource = self.read_if_there(path).await?.unwrap_or_default();
        let attribute = |name: &str| resource.get("Attributes")?.get(name)?.as_str().map(str::to_owned);
        Ok(FirstBootDevice { once: attribute(ONCE), device: attribute(DEVICE) })
    }
}
