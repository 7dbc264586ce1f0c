//! Flatcar (<https://www.flatcar.org/docs/latest/installing/bare-metal/booting-with-pxe/>): its initramfs takes an
//! Ignition config from the OEM directory. NetworkManager it has not.

use super::DeliveryError;
use super::contents::Contents;
use super::root::without_network_manager;
use crate::ignition::{Additions, UserConfig};

/// `ignition-setup` of Flatcar's initramfs makes this the user's config.
const IGNITION_CONFIG: &str = "usr/share/oem/config.ign";

pub(super) fn contents(additions: &Additions, ignition: Option<&UserConfig>) -> Result<Contents, DeliveryError> {
    let additions = without_network_manager(additions);
    Contents::with_ignition(IGNITION_CONFIG, &additions, ignition)
}
