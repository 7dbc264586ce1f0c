//! An iDRAC's attributes for the first boot device (`ServerBoot.1`). They are not part of `Boot`, which does not show them.

use serde_json::{Value, json};

use super::Bmc;
use super::error::BmcError;

const ONCE: &str = "ServerBoot.1.BootOnce";
const DEVICE: &str = "ServerBoot.1.FirstBootDevice";

/// The attributes as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FirstBootDevice {
    /// The device. The firmware's own order has the name `Normal`.
    pub(super) device: Option<String>,
}

/// The body that sets the attributes.
pub(super) fn body(once: &str, device: &str) -> Value {
    json!({"Attributes": {ONCE: once, DEVICE: device}})
}

impl Bmc {
    /// Reads the attributes. Without the resource, nothing is known.
    pub(super) async fn first_boot_device(&self, path: &str) -> Result<FirstBootDevice, BmcError> {
        let resource = self.read_if_there(path).await?.unwrap_or_default();
        let attribute = |name: &str| resource.get("Attributes")?.get(name)?.as_str().map(str::to_owned);
        Ok(FirstBootDevice { device: attribute(DEVICE) })
    }
}
