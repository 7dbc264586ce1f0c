//! The annotations of a DataImage that dayone reads.

/// Whom the drive is for: `config-2`, `cidata` or `combustion`. Objects without it are somebody else's.
pub(super) const KIND: &str = "dayone.metal3.io/data-image";
/// `iso` or `vfat`.
pub(super) const FILE_SYSTEM: &str = "dayone.metal3.io/file-system";
/// The Secret with the host's network.
pub(super) const NETWORK_DATA: &str = "dayone.metal3.io/network-data";
/// The Secret with its user data.
pub(super) const USER_DATA: &str = "dayone.metal3.io/user-data";
/// The Secret with its meta data.
pub(super) const META_DATA: &str = "dayone.metal3.io/meta-data";
/// Annotations that name Secrets.
pub(super) const SECRETS: [&str; 3] = [NETWORK_DATA, USER_DATA, META_DATA];
/// Objects with it, whatever its value, are left as they are.
pub(super) const PAUSED: &str = "baremetalhost.metal3.io/paused";
