//! Finds one of a firmware's boot options (schema `BootOption` 1.0).

use serde_json::Value;

use super::Bmc;
use super::error::BmcError;
use super::properties::Properties;

/// The property of `Boot` with the path of the device that the target `UefiTarget` means.
pub(super) const DEVICE: &str = "UefiTargetBootSourceOverride";
/// The value of `BootSourceOverrideTarget` for it.
pub(super) const TARGET: &str = "UefiTarget";

impl Bmc {
    /// The UEFI device path of the boot option with this name in the collection at this path. `None` if the firmware has no such option, or
    /// the BMC does not show any.
    pub(super) async fn boot_option(&self, options: Option<&str>, name: &str) -> Result<Option<String>, BmcError> {
        let Some(options) = options else { return Ok(None) };
        let paths = match self.member_paths(options).await {
            Ok(paths) => paths,
            Err(error) if error.status().is_some_and(|status| status.is_client_error()) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        for path in paths {
            let Some(body) = self.read_if_there(&path).await? else { continue };
            let option = Properties::new(&body);
            let is_wanted = option.text("DisplayName").is_some_and(|shown| shown.eq_ignore_ascii_case(name));
            if is_wanted && let Some(device) = option.text("UefiDevicePath") {
                return Ok(Some(device));
            }
        }
        Ok(None)
    }

    /// Reads a resource that some BMCs do not have.
    pub(super) async fn read_if_there(&self, path: &str) -> Result<Option<Value>, BmcError> {
        match self.client().get(path).await {
            Ok(resource) => Ok(Some(resource.body)),
            Err(error) if error.status().is_some_and(|status| status.is_client_error()) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
