//! Restricts the addresses that BMCs may have. In a server, anyone who may order boots chooses the BMC's address.
//! Without a restriction, they could make the server send requests to any HTTP service that it reaches.
//!
//! The resolver checks the addresses that a host name resolves to, and the connection uses the same answer of the DNS.
//! A second, different answer therefore changes nothing. Ports are not restricted: port forwarding can give a BMC any
//! port.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use url::{Host, Url};

/// The time limit for resolving a host name.
const RESOLUTION: Duration = Duration::from_secs(10);

/// The addresses where clouds give the machine's credentials to any process (AWS, Azure, GCP, `OpenStack`; ECS; AWS
/// with IPv6; Alibaba). No BMC is there.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
];

/// The networks that BMCs may be in. Collect it from [`IpNet`]s. Without networks, it allows every address except those
/// of the clouds' metadata services; to allow one of these, list exactly that address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedNetworks(Arc<[IpNet]>);

/// Why an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkRefusal {
    /// The address is in none of the networks.
    #[error("{0} is in none of the networks that are allowed for BMCs")]
    Outside(IpAddr),
    /// The address is that of a cloud's metadata service.
    #[error("{0} is the address of a cloud's metadata service, not of a BMC")]
    Metadata(IpAddr),
}

impl AllowedNetworks {
    /// Checks that a BMC may have this address.
    pub fn check(&self, address: IpAddr) -> Result<(), NetworkRefusal> {
        let address = plain(address);
        let exact = |network: &IpNet| network.prefix_len() == network.max_prefix_len() && network.addr() == address;
        if METADATA.contains(&address) && !self.0.iter().any(exact) {
            return Err(NetworkRefusal::Metadata(address));
        }
        if self.0.is_empty() || self.0.iter().any(|network| network.contains(&address)) {
            Ok(())
        } else {
            Err(NetworkRefusal::Outside(address))
        }
    }

    /// Checks a URL's host if it is an address. Names are checked when they are resolved.
    pub(super) fn check_literal(&self, url: &Url) -> Result<(), NetworkRefusal> {
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(address.into()),
            Some(Host::Ipv6(address)) => self.check(address.into()),
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }

    /// Resolves a host name as the system does, and leaves out the addresses that are not allowed.
    pub(super) async fn resolve(&self, name: &str) -> Result<std::vec::IntoIter<SocketAddr>, Failed> {
        let answer = tokio::time::timeout(RESOLUTION, tokio::net::lookup_host((name, 0))).await;
        let found = answer
            .map_err(|_| Unresolved(format!("the DNS did not answer within {} s", RESOLUTION.as_secs())))?
            .map_err(|error| Unresolved(error.to_string()))?;
        Ok(allowed(self, found.collect())?.into_iter())
    }
}

/// The IPv4 address inside an IPv6 address that stands for one: mapped (RFC 4291 §2.5.5.2), or NAT64 (RFC 6052 §2.1).
pub(super) fn plain(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => match v6.octets() {
            [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => Ipv4Addr::new(a, b, c, d).into(),
            _ => v6.into(),
        },
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Returns the IPv4 network that an IPv6 network stands for: [plain](plain()) makes an IPv4 address of each of its addresses.
fn plain_network(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else { return network };
    match (plain(network.addr()), v6.prefix_len().checked_sub(96)) {
        (address @ IpAddr::V4(_), Some(length)) => IpNet::new(address, length).unwrap_or(network),
        _ => network,
    }
}

impl FromIterator<IpNet> for AllowedNetworks {
    fn from_iter<I: IntoIterator<Item = IpNet>>(networks: I) -> Self {
        Self(networks.into_iter().map(|network| plain_network(network.trunc())).collect())
    }
}

impl fmt::Display for AllowedNetworks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("any network");
        }
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join(", "))
    }
}

/// A host name that could not be resolved.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unresolved(String);

/// A [`NetworkRefusal`], or [`Unresolved`].
type Failed = Box<dyn Error + Send + Sync>;

/// The addresses that are allowed. If none is, the refusal of the first.
fn allowed(networks: &AllowedNetworks, mut found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Failed> {
    let mut refusal = None;
    found.retain(|address| match networks.check(address.ip()) {
        Ok(()) => true,
        Err(error) => {
            refusal.get_or_insert(error);
            false
        }
    });
    match refusal {
        Some(refusal) if found.is_empty() => Err(refusal.into()),
        _ if found.is_empty() => Err(Unresolved("it has no addresses".to_owned()).into()),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(list: &[&str]) -> AllowedNetworks {
        list.iter().map(|text| text.parse::<IpNet>().unwrap()).collect()
    }

    fn accepts(list: &[&str], address: &str) -> bool {
        networks(list).check(address.parse().unwrap()).is_ok()
    }

    #[test]
    fn addresses_in_allowed_networks_are_accepted() {
        assert!(accepts(&[], "192.0.2.1") && accepts(&[], "2001:db8::1"));
        assert!(accepts(&["192.0.2.77/24"], "192.0.2.1") && !accepts(&["192.0.2.0/24"], "192.0.3.1"));
        assert!(!accepts(&["192.0.2.0/24"], "2001:db8::1") && accepts(&["2001:db8::/32"], "2001:db8::1"));
        assert!(accepts(&["192.0.2.0/24"], "::ffff:192.0.2.1"), "a mapped address is the IPv4 address");
        assert!(!accepts(&["::/0"], "::ffff:192.0.2.1"));
        assert!(!accepts(&["192.0.2.0/24"], "0.0.0.0"));
    }

    #[test]
    fn networks_that_stand_for_ipv4_are_networks_of_ipv4() {
        for network in ["::ffff:192.0.2.0/120", "::ffff:192.0.2.7/120", "64:ff9b::c000:200/120"] {
            for address in ["192.0.2.1", "::ffff:192.0.2.1", "64:ff9b::c000:201"] {
                assert!(accepts(&[network], address), "{network} {address}");
            }
            assert!(!accepts(&[network], "192.0.3.1") && !accepts(&[network], "2001:db8::1"), "{network}");
            assert_eq!(networks(&[network]).to_string(), "192.0.2.0/24");
        }
        assert!(accepts(&["::ffff:0:0/96"], "192.0.2.1") && accepts(&["64:ff9b::/96"], "192.0.2.1"));
        assert!(accepts(&["64:ff9b::a9fe:a9fe/128"], "169.254.169.254"), "exactly this address");
        // A larger network also has real IPv6 addresses.
        assert!(!accepts(&["::/0"], "192.0.2.1") && !accepts(&["64:ff9b::/64"], "192.0.2.1"));
        assert!(accepts(&["64:ff9b::/64"], "64:ff9b::1:0:0:1"));
    }

    #[test]
    fn metadata_services_are_refused() {
        for address in ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254"] {
            assert!(!accepts(&[], address), "{address}");
            assert!(!accepts(&["0.0.0.0/0", "::/0", "169.254.0.0/16"], address), "{address}");
        }
        assert!(accepts(&["169.254.169.254/32"], "169.254.169.254"));
        assert!(accepts(&[], "169.254.1.1"), "a BMC's USB network interface");
    }

    #[test]
    fn only_the_allowed_addresses_of_a_name_are_used() {
        let found = || vec![SocketAddr::from(([10, 0, 0, 1], 0)), SocketAddr::from(([192, 0, 2, 1], 0))];
        let left = allowed(&networks(&["192.0.2.0/24"]), found()).unwrap();
        assert_eq!(left, [SocketAddr::from(([192, 0, 2, 1], 0))]);
        let error = allowed(&networks(&["198.51.100.0/24"]), found()).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&NetworkRefusal::Outside(IpAddr::from([10, 0, 0, 1]))));
    }
}
