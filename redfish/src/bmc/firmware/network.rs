//! The network of the firmware, for which a host's document has a static address.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// A static network for the firmware. The same address as that of the host's system, because the firmware uses it only until the
/// system starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirmwareNetwork {
    /// The vendor's name of the NIC, if the caller knows it: `NIC.Integrated.1-1-1` (Dell), `Slot1NicPort1` (HPE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The address.
    pub address: StaticAddress,
    /// The MAC addresses of the NICs that have the network. A bond has several; the first is the best.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub macs: Vec<String>,
    /// Why it may not work. Becomes a remark of the plan, if the firmware gets the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

/// A static IPv4 address, and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaticAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// The length of the network's prefix, 0 to 32.
    pub prefix: u8,
    /// The gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Ipv4Addr>,
    /// The VLAN, if frames have a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// The DNS servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns: Vec<Ipv4Addr>,
}

impl StaticAddress {
    /// The netmask, as firmware wants it.
    pub(super) fn mask(&self) -> Ipv4Addr {
        let host_bits = 32_u32.saturating_sub(self.prefix.into());
        Ipv4Addr::from(u32::MAX.checked_shl(host_bits).unwrap_or(0))
    }
}

/// A MAC address without separators and in upper case, to compare two.
pub(super) fn plain(mac: &str) -> String {
    mac.chars().filter(char::is_ascii_hexdigit).collect::<String>().to_ascii_uppercase()
}
