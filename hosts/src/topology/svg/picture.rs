//! The content of a picture.

use crate::model::Topology;
use vocabulary::host::MacAddress;

/// The network to draw.
#[derive(Debug, Clone, Copy)]
pub struct Picture<'a> {
    /// The host's network.
    pub topology: &'a Topology,
    /// The address of its BMC, if it is known.
    pub bmc: Option<&'a str>,
    /// The MAC address of the NIC that the host boots from, if it is known.
    pub boot_mac: Option<MacAddress>,
}
