//! Flatcar (<https://www.flatcar.org/docs/latest/installing/bare-metal/booting-with-pxe/>): its initramfs takes an
//! Ignition config from the OEM directory. NetworkManager it has not.

use super::DeliveryError;
use super::contents::Contents;
use super::root::without_network_manager;
use crate::ignition::{Additions, UserConfig, written_at};

/// `ignition-setup` of Flatcar's initramfs makes this the user's config.
const IGNITION_CONFIG: &str = "usr/share/oem/config.ign";

pub(super) fn contents(additions: &Additions, ignition: Option<&UserConfig>) -> Result<Contents, DeliveryError> {
    let additions = without_network_manager(additions);
    // `/usr` is a squashfs, with a link to `/oem` in it.
    let is_read_only = |path: &str| path.starts_with("/usr/") && !path.starts_with("/usr/share/oem/");
    if let Some(path) = written_at(&additions, ignition, is_read_only)? {
        let (system, instead) = ("Flatcar", "/etc, /var or /opt");
        return Err(DeliveryError::ReadOnly { path, system, instead });
    }
    Contents::with_ignition(IGNITION_CONFIG, &additions, ignition)
}
