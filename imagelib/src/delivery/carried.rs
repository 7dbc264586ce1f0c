//! Finds out whether an initramfs already has the configuration of a host.

use super::DeliveryProfile;
use super::coreos::{IGNITION_CONFIG, KEYFILES};
use super::handover::is_handed_over;
use super::signs::has_file;
use crate::initramfs::Tree;
use vocabulary::network_files::{CONFIGURATION, NETWORKD_UNITS, NO_AUTO_DEFAULT, UNMENTIONED_UNIT};

/// The files by which dayone keeps systems from configuring NICs that no document mentions. They show that dayone has made an image of a
/// ramdisk. Keyfiles and units do not show that, because a ramdisk may have its own.
const UNMENTIONED_NICS: [(&str, &str); 2] = [(CONFIGURATION, NO_AUTO_DEFAULT.0), (NETWORKD_UNITS, UNMENTIONED_UNIT)];

/// The configuration of a host in an initramfs, as dayone and coreos-installer add it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    /// No configuration that dayone recognises.
    Nothing,
    /// Only an Ignition config. A later archive overwrites files of the same path, so another config replaces it.
    Replaceable,
    /// Files that would stay active beside those of another host.
    Lasting,
}

impl Carried {
    /// Returns what an initramfs of this profile has.
    pub(crate) fn of(profile: DeliveryProfile, tree: &Tree) -> Self {
        let is_coreos = profile == DeliveryProfile::Coreos;
        let is_keyfile =
            |path: &[u8]| path.strip_prefix(KEYFILES.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
        let lasting = is_handed_over(tree)
            || UNMENTIONED_NICS
                .iter()
                .any(|(directory, name)| has_file(tree, &format!("{}/{name}", directory.trim_start_matches('/'))))
            || is_coreos && tree.nodes().any(|(path, _)| is_keyfile(path));
        let replaceable = is_coreos && has_file(tree, IGNITION_CONFIG);
        match (lasting, replaceable) {
            (true, _) => Self::Lasting,
            (false, true) => Self::Replaceable,
            (false, false) => Self::Nothing,
        }
    }
}
