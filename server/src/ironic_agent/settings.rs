//! The settings of the agent.

use std::fmt;

use bytes::Bytes;
use imagelib::ignition::SshPublicKey;

use super::{IronicCaBundle, PullSecret};

/// The settings for the agents of all hosts. The environment variables are those of the image-customization-controller.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// The agent's container image (`IRONIC_AGENT_IMAGE`).
    pub image: String,
    /// URLs of Ironic's API, with commas between them (`IRONIC_BASE_URL`).
    pub ironic_urls: String,
    /// URLs of Ironic Inspector, with commas between them; may be empty (`IRONIC_INSPECTOR_BASE_URL`).
    pub inspector_urls: String,
    /// The credentials for pulling the image.
    pub pull_secret: Option<PullSecret>,
    /// Kernel arguments for the network of the installed system (`IP_OPTIONS`).
    pub ip_options: String,
    /// The proxies for pulling the image.
    pub proxies: Proxies,
    /// The keys that may log in as the user `core` (`IRONIC_RAMDISK_SSH_KEY`).
    pub ssh_keys: Vec<SshPublicKey>,
    /// On which interfaces the agent creates one for each VLAN that the switch announces (`IRONIC_AGENT_VLAN_INTERFACES`).
    pub vlan_interfaces: VlanInterfaces,
    /// Additional NTP servers (`ADDITIONAL_NTP_SERVERS`).
    pub ntp_servers: Vec<String>,
    /// Certificate authorities that the host trusts, in PEM (the content of `CA_BUNDLE`).
    pub ca_bundle: Option<Bytes>,
    /// Certificates for verifying Ironic. Without them, the agent does not verify.
    pub ironic_ca_bundle: Option<IronicCaBundle>,
    /// `registries.conf` of the container tools (the content of `REGISTRIES_CONF_PATH`).
    pub registries_conf: Option<Bytes>,
}

impl fmt::Debug for AgentSettings {
    /// Without the pull secret, and without proxies and URLs, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSettings").field("image", &self.image).finish_non_exhaustive()
    }
}

/// `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http`.
    pub http: String,
    /// For `https`.
    pub https: String,
    /// The hosts that need no proxy.
    pub no_proxy: String,
}

impl fmt::Debug for Proxies {
    /// Without the URLs, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies").field("no_proxy", &self.no_proxy).finish_non_exhaustive()
    }
}

/// Where the agent looks for VLANs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VlanInterfaces {
    /// On all interfaces.
    Always,
    /// Nowhere.
    Never,
    /// On all interfaces, if the host has no network data.
    #[default]
    Auto,
}

impl From<&str> for VlanInterfaces {
    /// `always` or `never`, in upper or lower case; everything else is `Auto`.
    fn from(text: &str) -> Self {
        match text.trim().to_ascii_lowercase().as_str() {
            "always" => Self::Always,
            "never" => Self::Never,
            _ => Self::Auto,
        }
    }
}

/// The settings for the agent of one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentHost<'a> {
    /// Its name, if it is known. An empty name means `None`.
    pub hostname: Option<&'a str>,
    /// Whether it has network data.
    pub has_network_data: bool,
    /// The number of keyfiles from the network data.
    pub keyfiles: usize,
}
