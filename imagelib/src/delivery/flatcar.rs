//! Flatcar (<https://www.flatcar.org/docs/latest/installing/bare-metal/booting-with-pxe/>): its initramfs takes an
//! Ignition config from the OEM directory. NetworkManager it has not.

use super::DeliveryError;
use super::contents::Contents;
use super::root::without_network_manager;
use crate::ignition::{Additions, UserConfig, written_at};

/// `ignition-setup` of Flatcar's initramfs makes this the user's config.
const IGNITION_CONFIG: &str = "usr/share/oem/config.ign";
/// A squashfs, and the links to its directories, which `initrd-setup-root` makes before Ignition writes files (`baselayout.conf`).
const READ_ONLY: [&str; 5] = ["/usr/", "/bin/", "/lib/", "/lib64/", "/sbin/"];
/// A link to `/oem` in the squashfs.
const OEM: &str = "/usr/share/oem/";

pub(super) fn contents(additions: &Additions, ignition: Option<&UserConfig>) -> Result<Contents, DeliveryError> {
    let additions = without_network_manager(additions);
    let is_read_only = |path: &str| READ_ONLY.iter().any(|place| path.starts_with(place)) && !path.starts_with(OEM);
    if let Some(path) = written_at(&additions, ignition, is_read_only)? {
        let (system, instead) = ("Flatcar", "/etc, /var or /opt");
        return Err(DeliveryError::ReadOnly { path, system, instead });
    }
    Contents::with_ignition(IGNITION_CONFIG, &additions, ignition)
}
