//! A static network for a host's firmware, from the host's documents.

use hosts::model::Topology;
use media::MediaUrl;
use redfish::bmc::{FirmwareNetwork, StaticAddress};

/// Returns the network by which the firmware reaches the images, or why the documents have none. `interface` is the firmware's own name of
/// the NIC, if the request gives it.
pub fn of(media_url: &MediaUrl, topology: &Topology, interface: Option<String>) -> Result<FirmwareNetwork, String> {
    let found = hosts::firmware_network::leading_to(media_url.host().parse().ok(), topology)?;
    let address = StaticAddress {
        address: found.address.addr(),
        prefix: found.address.prefix_len(),
        gateway: found.gateway,
        vlan: found.vlan,
        dns: found.dns,
    };
    let macs = found.macs.iter().map(ToString::to_string).collect();
    Ok(FirmwareNetwork { interface, address, macs, caution: found.caution })
}
