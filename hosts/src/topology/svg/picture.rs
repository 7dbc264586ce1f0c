//! What a picture is of.

use crate::model::Topology;
use vocabulary::host::MacAddress;

/// What to draw.
#[derive(Debug, Clone, Copy)]
pub struct Picture<'a> {
    /// The host's network.
    pub topology: &'a Topology,
    /// Where its BMC is, where that is known.
    pub bmc: Option<&'a str>,
    /// The MAC address of the NIC that it boots from, where that is known.
    pub boot_mac: Option<MacAddress>,
}
