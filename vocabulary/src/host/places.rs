//! Where documents say what they say of a host besides its network.

use crate::report::DocumentPath;

/// Places in the user's documents; those that are not known are the top of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPlaces {
    /// Where the host is described.
    pub host: DocumentPath,
    /// Where the MAC address of the NIC is that the host boots from.
    pub boot_mac: DocumentPath,
    /// Where its BMC is described.
    pub bmc: DocumentPath,
}
