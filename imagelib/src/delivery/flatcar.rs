//! Flatcar (<https://www.flatcar.org/docs/latest/installing/bare-metal/booting-with-pxe/>): its initramfs takes an
//! Ignition config from the OEM directory. NetworkManager it has not.

use super::contents::Contents;
use super::root::without_network_manager;
use super::{DeliveredBy, DeliveryError};
use crate::ignition::{self, Additions, UserConfig};

/// `ignition-setup` of Flatcar's initramfs makes this the user's config.
const IGNITION_CONFIG: &str = "usr/share/oem/config.ign";

pub(super) fn contents(additions: &Additions, ignition: Option<&UserConfig>) -> Result<Contents, DeliveryError> {
    let additions = without_network_manager(additions);
    let mut contents = Contents::default();
    contents.file(IGNITION_CONFIG, 0o600, ignition::config(&additions, ignition)?)?;
    for file in ignition::files(&additions)? {
        contents.delivered_later(file.path.as_str(), DeliveredBy::Ignition, file.mode, &file.contents);
    }
    Ok(contents)
}
