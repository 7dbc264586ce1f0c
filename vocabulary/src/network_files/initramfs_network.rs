//! The network that an initramfs has before its system starts: one NIC with IPv4.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

use crate::host::MacAddress;
use crate::{checked_text, serde_as_text};

/// The longest name of a network interface (`IFNAMSIZ`).
const MAX_NAME_BYTES: usize = 15;

/// Why a text is not a part of such a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InitramfsNetworkError {
    /// Not an address.
    #[error("{0:?} is not an IPv4 address with the length of its prefix, such as 192.0.2.10/24")]
    Address(String),
    /// Not a name that scripts can use.
    #[error(
        "{0:?} is not the name of a NIC for scripts: 1 to 15 letters, digits, '.', '_' and '-', and no '-' in front"
    )]
    Name(String),
}

/// The network by which an initramfs fetches its root file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InitramfsNetwork {
    /// The NICs of which one gets the addresses: the first one by which the server answers.
    pub nics: Vec<InitramfsNic>,
    /// The MAC address that this NIC gets, if it is not its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
    /// Its MTU, if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Its addresses.
    pub addresses: Vec<Ipv4Address>,
    /// The router that leads to the server; none if the server is on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Ipv4Addr>,
    /// The server that has the root file system.
    pub server: Ipv4Addr,
}

/// How an initramfs finds a NIC: by the MAC address, or else by the name. It has at least one of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InitramfsNic {
    /// The MAC address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<NicName>,
}

impl InitramfsNetwork {
    /// Whether an address is in one of the networks of the NIC.
    pub fn is_in_networks(&self, address: Ipv4Addr) -> bool {
        self.addresses.iter().any(|own| own.0.contains(&address))
    }
}

/// An IPv4 address, with the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ipv4Address(Ipv4Net);

serde_as_text!(Ipv4Address, InitramfsNetworkError);

impl From<Ipv4Net> for Ipv4Address {
    fn from(network: Ipv4Net) -> Self {
        Self(network)
    }
}

impl FromStr for Ipv4Address {
    type Err = InitramfsNetworkError;

    fn from_str(text: &str) -> Result<Self, InitramfsNetworkError> {
        text.parse().map(Self).map_err(|_| InitramfsNetworkError::Address(text.chars().take(64).collect()))
    }
}

impl fmt::Display for Ipv4Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of a NIC, as scripts can use it without quotes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NicName(String);

checked_text!(NicName, InitramfsNetworkError);

impl FromStr for NicName {
    type Err = InitramfsNetworkError;

    fn from_str(text: &str) -> Result<Self, InitramfsNetworkError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_name = (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(is_plain);
        if is_name && !text.starts_with('-') && !matches!(text, "." | "..") {
            Ok(Self(text.to_owned()))
        } else {
            Err(InitramfsNetworkError::Name(text.chars().take(64).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_script_can_use_is_a_name_or_an_address() {
        for name in ["eth0", "enp1s0f0np0", "eno1.100", "a_b-c"] {
            assert_eq!(name.parse::<NicName>().unwrap().as_str(), name);
        }
        for name in ["", ".", "..", "-a", "a b", "a'b", "a/b", "a$b", "abcdefghijklmnop", "ü"] {
            assert!(name.parse::<NicName>().is_err(), "{name}");
        }
        assert_eq!("192.0.2.10/24".parse::<Ipv4Address>().unwrap().to_string(), "192.0.2.10/24");
        for address in ["192.0.2.10", "192.0.2.10/33", "2001:db8::1/64", "x"] {
            assert!(address.parse::<Ipv4Address>().is_err(), "{address}");
        }
    }

    #[test]
    fn a_network_is_read_as_it_was_written() {
        let text = "{nics: [{mac: '52:54:00:12:34:01'}, {name: eno2}], addresses: [192.0.2.10/24], gateway: 192.0.2.1, server: 198.51.100.7}";
        let network: InitramfsNetwork = serde_yaml::from_str(text).unwrap();
        assert!(network.is_in_networks(Ipv4Addr::new(192, 0, 2, 1)) && !network.is_in_networks(network.server));
        let written = serde_yaml::to_string(&network).unwrap();
        assert_eq!(serde_yaml::from_str::<InitramfsNetwork>(&written).unwrap(), network);
        assert!(!written.contains("mtu"), "{written}");
        for other in [text.replace("mac:", "other:"), text.replace("gateway:", "other:")] {
            assert!(serde_yaml::from_str::<InitramfsNetwork>(&other).is_err(), "{other}");
        }
    }
}
