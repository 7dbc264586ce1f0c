//! The clients that may read an image.

use std::collections::HashSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};
use serde::{Deserialize, Serialize};

/// The maximum number of networks of an image.
const MAX_NETWORKS: usize = 64;

/// The text is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network: write an address, or a network such as 192.0.2.0/24 or 2001:db8::/64")]
pub struct NotANetwork(String);

/// A network of clients, or one address. Clients with IPv4 are in networks of IPv4 only, even if the server's socket shows
/// their addresses as IPv4-mapped (`::ffff:192.0.2.1`); an IPv4-mapped network is the network of IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network(IpNet);

impl Network {
    /// Whether the address is in the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        Self(address.to_canonical().into())
    }
}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        let network = network.map_err(|_| NotANetwork(text.to_owned()))?.trunc();
        Ok(Self(mapped(network).map_or(network, IpNet::V4)))
    }
}

/// The network of IPv4 that an IPv4-mapped network stands for.
fn mapped(network: IpNet) -> Option<Ipv4Net> {
    let IpNet::V6(network) = network else { return None };
    let length = network.prefix_len().checked_sub(96)?;
    Ipv4Net::new(network.addr().to_ipv4_mapped()?, length).ok()
}

impl TryFrom<String> for Network {
    type Error = NotANetwork;

    fn try_from(text: String) -> Result<Self, NotANetwork> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The list of networks has a wrong length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotNetworks {
    /// No client could read the image.
    #[error("the list of networks is empty, so nobody could read the image: leave it out, or give a network")]
    Empty,
    /// There are too many.
    #[error("{0} networks are too many: give at most {MAX_NETWORKS}")]
    TooMany(usize),
}

/// The networks whose clients may read an image: at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Network>", into = "Vec<Network>")]
pub struct OnlyFrom(Vec<Network>);

impl OnlyFrom {
    /// Whether a client with this address may read the image.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The networks.
    pub fn networks(&self) -> &[Network] {
        &self.0
    }
}

impl TryFrom<Vec<Network>> for OnlyFrom {
    type Error = NotNetworks;

    fn try_from(mut networks: Vec<Network>) -> Result<Self, NotNetworks> {
        let mut seen = HashSet::new();
        networks.retain(|network| seen.insert(*network));
        match networks.len() {
            0 => Err(NotNetworks::Empty),
            1..=MAX_NETWORKS => Ok(Self(networks)),
            many => Err(NotNetworks::TooMany(many)),
        }
    }
}

impl From<OnlyFrom> for Vec<Network> {
    fn from(networks: OnlyFrom) -> Self {
        networks.0
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        network.parse::<Network>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn mapped_addresses_are_those_of_ipv4() {
        for network in ["192.0.2.0/24", "192.0.2.7/24", "192.0.2.7", "::ffff:192.0.2.0/120", "::ffff:192.0.2.7"] {
            assert!(contains(network, "192.0.2.7") && contains(network, "::ffff:192.0.2.7"), "{network}");
            assert!(!contains(network, "192.0.3.7") && !contains(network, "::ffff:192.0.3.7"), "{network}");
            assert!(!contains(network, "2001:db8::7"), "{network}");
        }
        assert!(contains("0.0.0.0/0", "::ffff:192.0.2.7") && contains("::ffff:0:0/96", "192.0.2.7"));
        assert!(!contains("::/0", "192.0.2.7") && !contains("::/0", "::ffff:192.0.2.7"), "IPv6 is IPv6");
        assert!(contains("2001:db8::/64", "2001:db8::7") && !contains("2001:db8::/64", "2001:db8:1::7"));
        assert!(contains("::/0", "2001:db8::7"));
    }

    #[test]
    fn networks_are_shown_in_one_form() {
        for (written, shown) in [
            ("192.0.2.7/24", "192.0.2.0/24"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("::ffff:192.0.2.7/120", "192.0.2.0/24"),
            ("2001:DB8::1/64", "2001:db8::/64"),
            ("fe80::1", "fe80::1/128"),
        ] {
            assert_eq!(written.parse::<Network>().unwrap().to_string(), shown);
        }
        for bad in ["", "192.0.2.0/33", "2001:db8::/129", "192.0.2", "host", "192.0.2.0/24 ", "fe80::1%eth0", "/24"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_list_has_one_to_64_distinct_networks() {
        let list = |text: &str| serde_json::from_str::<OnlyFrom>(text);
        assert!(list("[]").unwrap_err().to_string().contains("nobody could read"));
        assert!(list(r#"["nowhere"]"#).is_err() && list(r#""192.0.2.1""#).is_err());
        assert_eq!(list(r#"["192.0.2.1", "192.0.2.1/32", "::ffff:192.0.2.1"]"#).unwrap().networks().len(), 1);
        let many =
            |count: u8| serde_json::to_string(&(0..count).map(|last| format!("192.0.2.{last}")).collect::<Vec<_>>());
        assert_eq!(list(&many(64).unwrap()).unwrap().networks().len(), 64);
        assert!(list(&many(65).unwrap()).is_err());
        let (begun, count) = (Instant::now(), 400_000);
        let most: Vec<Network> =
            (0..count).map(|bits| Network::from(IpAddr::from(Ipv4Addr::from_bits(bits)))).collect();
        assert_eq!(OnlyFrom::try_from(most).unwrap_err(), NotNetworks::TooMany(400_000));
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
