//! A document of the second step, and for whom it is.

use std::fmt;
use std::str::FromStr;

use vocabulary::checked_text;
use vocabulary::host::{HostError, HostName, HostSpec, NmstateDocument};

/// The first label of a host name: what `hostname -s` prints, and what the file on the host is called after.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortName(String);

checked_text!(ShortName, HostError);

impl FromStr for ShortName {
    type Err = HostError;

    /// Reads a host name, with its domain or without.
    fn from_str(text: &str) -> Result<Self, HostError> {
        let name: HostName = text.parse()?;
        Ok(Self(name.as_str().split('.').next().unwrap_or_default().to_owned()))
    }
}

impl ShortName {
    /// What a host is called after the installation, as far as its documents say: as it calls itself, which need not be
    /// what a document calls it.
    pub fn of(host: &HostSpec) -> Option<Self> {
        let set = host.network.as_nmstate().and_then(|network| network.value.get("hostname")?.get("config")?.as_str());
        let names = [set, host.hostname.as_ref().map(HostName::as_str), host.name.as_deref()];
        names.into_iter().flatten().find_map(|name| name.parse().ok())
    }
}

/// For whom a document is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// For the host of this name.
    Host(ShortName),
    /// For every host that has none of its own.
    Cluster,
}

impl Target {
    /// What the file is called that holds a document for all hosts, without its suffix. No host can be called so.
    pub(super) const CLUSTER: &str = "cluster";

    /// The name of the file on the host. It must end with `.yml`: what ends with `.yaml` is not looked for.
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
    /// For whom it is.
    pub target: Target,
    /// What it is in its cluster, where the same document says.
    pub role: Option<String>,
    /// What the file on the host holds. A document of the user's own is taken as it is.
    pub content: Vec<u8>,
    /// The document.
    pub network: NmstateDocument,
}

impl fmt::Debug for SecondStepDocument {
    /// Without the content, which may hold 802.1X passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecondStepDocument").field("target", &self.target).finish_non_exhaustive()
    }
}
