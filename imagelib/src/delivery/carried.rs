//! What an initramfs carries of a host already.

use super::DeliveryProfile;
use super::coreos::{IGNITION_CONFIG, KEYFILES};
use super::handover::is_handed_over;
use super::signs::{has_directory, has_file};
use crate::initramfs::Tree;

/// The files of dayone that keep NICs alone which no document mentions. They show an image of a ramdisk that dayone has made: a
/// ramdisk may have keyfiles and units of its own.
const UNMENTIONED_NICS: [&str; 2] =
    ["etc/NetworkManager/conf.d/99-dayone-no-auto-default.conf", "etc/systemd/network/11-dayone-unmentioned.network"];

/// The configuration of a host in an initramfs, as dayone and coreos-installer add it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    /// None that dayone recognises.
    Nothing,
    /// An Ignition config alone. An archive that follows overwrites files of the same path, so another config replaces it.
    Replaceable,
    /// Files that would stay active beside those of another host.
    Lasting,
}

impl Carried {
    /// What an initramfs of this profile carries.
    pub(crate) fn of(profile: DeliveryProfile, tree: &Tree) -> Self {
        let is_coreos = profile == DeliveryProfile::Coreos;
        let is_keyfile =
            |path: &[u8]| path.strip_prefix(KEYFILES.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"));
        let lasting = is_handed_over(tree)
            || UNMENTIONED_NICS.iter().any(|path| has_file(tree, path))
            || is_coreos && tree.nodes().any(|(path, _)| is_keyfile(path));
        let replaceable = is_coreos && (has_file(tree, IGNITION_CONFIG) || has_directory(tree, KEYFILES));
        match (lasting, replaceable) {
            (true, _) => Self::Lasting,
            (false, true) => Self::Replaceable,
            (false, false) => Self::Nothing,
        }
    }
}
