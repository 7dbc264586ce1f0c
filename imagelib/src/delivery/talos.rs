//! Talos Linux: takes no files. What it takes is in [`crate::talos`].

use super::DeliveryError;
use super::contents::Contents;
use crate::ignition::{Additions, UserConfig};

/// The whole system, which the initramfs of Talos has beside its `init`.
pub(super) const ROOT: &str = "rootfs.sqsh";

/// Nothing: refuses everything that would have to come with the initramfs.
pub(super) fn contents(additions: &Additions, ignition: Option<&UserConfig>) -> Result<Contents, DeliveryError> {
    let Additions {
        keyfiles,
        networkd_units,
        // Nothing says so to Talos. The conversion of the network warns about it.
        no_auto_default: _,
        hostname,
        ssh_authorized_keys,
        files,
        units,
    } = additions;
    let found = [
        (ignition.is_some(), "an Ignition config"),
        (!keyfiles.is_empty(), "keyfiles"),
        (!networkd_units.is_empty(), "units of systemd-networkd"),
        (hostname.is_some(), "a host name in a file"),
        (!ssh_authorized_keys.is_empty(), "SSH keys"),
        (!files.is_empty(), "files"),
        (!units.is_empty(), "systemd units"),
    ];
    match found.into_iter().find(|(present, _)| *present) {
        Some((_, what)) => Err(DeliveryError::TalosTakesNoFiles(what)),
        None => Ok(Contents::default()),
    }
}
