//! A document of the second step, and the hosts that it is for.

use std::fmt;
use std::str::FromStr;

use crate::input::HostWithoutNetwork;
use vocabulary::checked_text;
use vocabulary::host::{HostError, HostName, HostSpec, NmstateDocument};

/// The first label of a host name: what `hostname -s` prints, and the name of the file on the host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortName(String);

checked_text!(ShortName, HostError);

impl FromStr for ShortName {
    type Err = HostError;

    /// Parses a host name, with or without its domain.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let name: HostName = text.parse()?;
        Ok(Self(name.as_str().split('.').next().unwrap_or_default().to_owned()))
    }
}

impl ShortName {
    /// Returns the short name that a host has after the installation. It follows from the host name, which can differ from the
    /// host's name in a document.
    pub fn of(host: &HostSpec) -> Option<Self> {
        let set = host.network.as_nmstate().and_then(|network| network.value.get("hostname")?.get("config")?.as_str());
        Self::first([set, host.hostname.as_ref().map(HostName::as_str), host.name.as_deref()])
    }

    /// [`ShortName::of`] for a host without a network.
    pub(super) fn of_host_without_network(host: &HostWithoutNetwork) -> Option<Self> {
        Self::first([host.hostname.as_ref().map(HostName::as_str), host.name.as_deref()])
    }

    fn first<'n>(names: impl IntoIterator<Item = Option<&'n str>>) -> Option<Self> {
        names.into_iter().flatten().find_map(|name| name.parse().ok())
    }
}

/// The hosts that a document is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The host with this name.
    Host(ShortName),
    /// Every host without a document of its own.
    Cluster,
}

impl Target {
    /// The name of the file for all hosts, without its suffix. No host may have this name.
    pub(super) const CLUSTER: &str = "cluster";

    /// Returns the name of the file on the host. The host only looks for files that end with `.yml`, not with `.yaml`.
    pub fn file_name(&self) -> String {
        match self {
            Self::Host(name) => format!("{name}.yml"),
            Self::Cluster => format!("{}.yml", Self::CLUSTER),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(name) => write!(f, "the host {name}"),
            Self::Cluster => f.write_str("all hosts"),
        }
    }
}

/// NMState for the second step.
#[derive(Clone, PartialEq)]
pub struct SecondStepDocument {
    /// The hosts that it is for.
    pub target: Target,
    /// The role of the host, if the same document has it.
    pub role: Option<String>,
    /// The content of the file on the host. A document that the user wrote stays unchanged.
    pub content: Vec<u8>,
    /// The document.
    pub network: NmstateDocument,
}

impl fmt::Debug for SecondStepDocument {
    /// Leaves the content out, because it may contain 802.1X passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecondStepDocument").field("target", &self.target).finish_non_exhaustive()
    }
}
