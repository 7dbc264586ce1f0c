//! The DUID, by which `DHCPv6` servers know a host.

use crate::network::devices::Network;
use crate::network::form::Findings;

/// Warns of each interface with `DHCPv6`, in a format that has no setting for the DUID.
pub(super) fn warn(network: &Network<'_>, format: &str, findings: &mut Findings<'_>) {
    for ipv6 in network.devices.iter().map(|device| &device.interface.ipv6).filter(|ipv6| ipv6.is_automatic()) {
        let message = format!(
            "identifies the host to DHCPv6 servers by another DUID than keyfiles do, and {format} has no setting for it: the host \
             may get another address"
        );
        findings.warn("dhcpv6-duid-not-kept", &ipv6.path, &message);
    }
}
