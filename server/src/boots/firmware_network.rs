//! A static network for a host's firmware, from the host's documents.

use std::net::IpAddr;

use hosts::model::Topology;
use media::MediaUrl;
use redfish::bmc::{FirmwareNetwork, StaticAddress};

/// Returns the network by which the firmware reaches the images, or why the documents have none. `interface` is the firmware's own name of
/// the NIC, if the request gives it.
pub fn of(media_url: &MediaUrl, topology: &Topology, interface: Option<String>) -> Result<FirmwareNetwork, String> {
    let server = match media_url.address() {
        Some(IpAddr::V6(address)) => {
            return Err(format!(
                "the media URL has the IPv6 address {address}, and dayone can give a firmware IPv4 only"
            ));
        }
        Some(IpAddr::V4(address)) => Some(address),
        None => None,
    };
    let found = hosts::firmware_network::leading_to(server, topology)?;
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

#[cfg(test)]
mod tests {
    use vocabulary::report::DocumentPath;

    use super::*;

    #[test]
    fn a_media_url_with_an_ipv6_address_gives_no_network() {
        let profile = "[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n\
                       [ipv4]\nmethod=manual\naddress1=192.0.2.50/24\ngateway=192.0.2.1\n[ipv6]\nmethod=disabled\n";
        let topology = Topology::from_profiles([(DocumentPath::root(), profile)], None);
        let found = |url: &str| of(&url.parse().unwrap(), &topology, None);
        let why = found("http://[2001:db8::5]:8081").unwrap_err();
        assert_eq!(why, "the media URL has the IPv6 address 2001:db8::5, and dayone can give a firmware IPv4 only");
        for url in ["http://198.51.100.5", "http://[::ffff:198.51.100.5]", "http://boot.example.com"] {
            assert_eq!(found(url).unwrap().address.address.to_string(), "192.0.2.50", "{url}");
        }
    }
}
