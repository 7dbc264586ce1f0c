//! A host as the user's documents describe it.

mod bmc;
mod cluster;
mod network;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::report::DocumentPath;
use crate::{checked_text, serde_as_text, text_as_serde};

pub use bmc::{BmcCredentials, BmcSpec, BootMode, HostBmc, NoCredentials};
pub use cluster::{Cluster, VirtualIp, VirtualIpRole};
pub use network::{KeyfileDocument, NetworkDocument, NmstateDocument};

/// Why a text is not the value that it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Not a host name.
    #[error("{0:?} is not a host name: {1}")]
    HostName(String, &'static str),
    /// Not a MAC address.
    #[error("{0:?} is not a MAC address (six hexadecimal pairs separated by colons, such as 52:54:00:12:34:56)")]
    MacAddress(String),
    /// Not a known architecture.
    #[error("{0:?} is not a known architecture (x86_64, aarch64, ppc64le, s390x)")]
    Architecture(String),
    /// Not one of Metal3's boot modes.
    #[error("{0:?} is not a boot mode (UEFI, UEFISecureBoot, legacy)")]
    BootMode(String),
}

/// A host name that Linux and the DNS accept: labels of letters, digits and inner hyphens (RFC 1123 §2.1),
/// 64 characters at most (`HOST_NAME_MAX`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostName(String);

checked_text!(HostName, HostError);

impl FromStr for HostName {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let refuse = |reason| Err(HostError::HostName(text.to_owned(), reason));
        if text.is_empty() {
            return refuse("it is empty");
        }
        if text.len() > 64 {
            return refuse("it is longer than the 64 characters that Linux allows");
        }
        for label in text.split('.') {
            if label.is_empty() || label.len() > 63 {
                return refuse("each part between dots has 1 to 63 characters");
            }
            if label.starts_with('-') || label.ends_with('-') {
                return refuse("a part between dots does not begin or end with a hyphen");
            }
            if !label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
                return refuse("only letters, digits, hyphens and dots are allowed");
            }
        }
        Ok(Self(text.to_owned()))
    }
}

/// An Ethernet address of six bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddress([u8; 6]);

serde_as_text!(MacAddress, HostError);

impl MacAddress {
    /// Whether it is a multicast or the broadcast address.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Whether it is `00:00:00:00:00:00`, which no NIC has.
    pub fn is_zero(self) -> bool {
        self.0 == [0; 6]
    }
}

impl FromStr for MacAddress {
    type Err = HostError;

    /// Reads six hexadecimal pairs separated by `:` or `-`, in either case.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let refuse = || HostError::MacAddress(text.to_owned());
        let mut bytes = [0_u8; 6];
        let mut pairs = text.split([':', '-']);
        for byte in &mut bytes {
            let pair = pairs.next().ok_or_else(refuse)?;
            if pair.len() != 2 || !pair.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(refuse());
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| refuse())?;
        }
        if pairs.next().is_some() { Err(refuse()) } else { Ok(Self(bytes)) }
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ":" };
            write!(f, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

/// A processor architecture, named as the kernel and Metal3 name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Architecture {
    /// AMD64.
    #[serde(rename = "x86_64")]
    X86_64,
    /// ARM, 64 bits.
    #[serde(rename = "aarch64")]
    Aarch64,
    /// POWER, little endian.
    #[serde(rename = "ppc64le")]
    Ppc64le,
    /// IBM Z.
    #[serde(rename = "s390x")]
    S390x,
}

text_as_serde!(Architecture, HostError::Architecture);

/// A NIC that the documents identify by its MAC address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedNic {
    /// The name that the documents give the NIC. The kernel may use another one.
    pub name: String,
    /// The permanent MAC address.
    pub mac: MacAddress,
    /// Where the documents say so.
    pub path: DocumentPath,
}

/// Where the documents say the facts about a host. A path is the root if it is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPaths {
    /// The description of the host.
    pub host: DocumentPath,
    /// The MAC address of the NIC that the host boots from.
    pub boot_mac: DocumentPath,
    /// The description of its BMC.
    pub bmc: DocumentPath,
}

/// Everything that the documents say about one host, before dayone interprets its network.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSpec {
    /// What the documents call the host: the name of a BareMetalHost. Bare NMState has no name.
    pub name: Option<String>,
    /// The host name for the case that the NMState sets none.
    pub hostname: Option<HostName>,
    /// The MAC address of the NIC that the host boots from.
    pub boot_mac: Option<MacAddress>,
    /// The processor architecture.
    pub architecture: Option<Architecture>,
    /// How the firmware boots.
    pub boot_mode: Option<BootMode>,
    /// The BMC.
    pub bmc: Option<BmcSpec>,
    /// The role in its cluster: `master`, `worker`, `arbiter`, …
    pub role: Option<String>,
    /// The disk for the installation (`rootDeviceHints`), unchanged. Metal3 and `OpenShift` share these hints.
    pub root_device_hints: Option<serde_yaml::Mapping>,
    /// The NICs that the documents identify by their MAC addresses.
    pub nics: Vec<NamedNic>,
    /// Where the documents say all this.
    pub paths: HostPaths,
    /// The network that the host shall have.
    pub network: NetworkDocument,
}

impl HostSpec {
    /// Returns the MAC addresses that identify the host, beginning with the boot MAC.
    pub fn macs(&self) -> impl Iterator<Item = MacAddress> {
        self.boot_mac.into_iter().chain(self.nics.iter().map(|nic| nic.mac))
    }

    /// Makes a host of which only the network is known.
    pub fn with_network(network: impl Into<NetworkDocument>) -> Self {
        Self {
            name: None,
            hostname: None,
            boot_mac: None,
            architecture: None,
            boot_mode: None,
            bmc: None,
            role: None,
            root_device_hints: None,
            nics: Vec::new(),
            paths: HostPaths::default(),
            network: network.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_are_what_linux_and_dns_accept() {
        let longest = format!("{}.a", "x".repeat(62));
        for good in ["a", "worker-0", "Worker-0.example.com", "0a", longest.as_str()] {
            assert_eq!(good.parse::<HostName>().map(|name| name.to_string()).as_deref(), Ok(good));
        }
        let too_long = "a.".repeat(32) + "a";
        for bad in ["", "-a", "a-", "a..b", ".a", "a.", "a_b", "a b", "a\nb", "ä", too_long.as_str(), &"x".repeat(64)]
        {
            assert!(bad.parse::<HostName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn mac_addresses_print_in_one_form() {
        for text in ["52:54:00:AB:cd:01", "52-54-00-ab-cd-01"] {
            assert_eq!(text.parse::<MacAddress>().unwrap().to_string(), "52:54:00:ab:cd:01");
        }
        for bad in
            ["", "52:54:00:ab:cd", "52:54:00:ab:cd:01:02", "5254.00ab.cd01", "52:54:00:ab:cd:0g", "+2:54:00:ab:cd:01"]
        {
            assert!(bad.parse::<MacAddress>().is_err(), "{bad:?}");
        }
    }
}
