//! Systems whose root is the initramfs, such as the ramdisks of Ironic's Python agent.

use super::contents::Contents;
use super::signs::{dhcp_units, has_network_manager};
use super::{DeliveryError, DeliveryProfile};
use crate::ignition::{self, Additions};
use crate::initramfs::Tree;

/// Every file in its final place.
///
/// glean (simple-init of diskimage-builder) would write a DHCP profile for every NIC that has no keyfile of the NIC's
/// own name. `dhcp-all-interfaces` would run DHCP on every NIC, also on those with a keyfile. Where there is a network to deliver, both
/// are switched off.
pub(super) fn contents(
    profile: DeliveryProfile,
    additions: &Additions,
    tree: &Tree,
) -> Result<Contents, DeliveryError> {
    let files = match profile {
        DeliveryProfile::Networkd => ignition::files(&without_network_manager(additions))?,
        _ => ignition::files(additions)?,
    };
    let mut contents = Contents::default();
    for file in files {
        contents.added(file)?;
    }
    if !(additions.keyfiles.is_empty() && additions.networkd_units.is_empty()) {
        // Where nothing reads the keyfiles, DHCP is better than no network. glean's units stay masked, as in published images.
        let is_read = !additions.networkd_units.is_empty() || has_network_manager(tree);
        for unit in dhcp_units(tree).into_iter().filter(|unit| is_read || unit.starts_with("glean")) {
            contents.symlink(&format!("etc/systemd/system/{unit}"), "/dev/null")?;
        }
    }
    Ok(contents)
}

/// The additions without what only NetworkManager reads.
pub(super) fn without_network_manager(additions: &Additions) -> Additions {
    Additions { keyfiles: Vec::new(), no_auto_default: false, ..additions.clone() }
}
