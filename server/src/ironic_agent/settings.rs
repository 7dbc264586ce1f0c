//! What the agent is told.

use std::fmt;

use bytes::Bytes;
use imagelib::ignition::SshPublicKey;

use super::PullSecret;

/// What all hosts' agents are told. The names of environment variables are those of the image-customization-controller.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// The agent's container image (`IRONIC_AGENT_IMAGE`).
    pub image: String,
    /// URLs of Ironic's API, with commas between them (`IRONIC_BASE_URL`).
    pub ironic_urls: String,
    /// URLs of Ironic Inspector, with commas between them; may be empty (`IRONIC_INSPECTOR_BASE_URL`).
    pub inspector_urls: String,
    /// What the image is pulled with.
    pub pull_secret: Option<PullSecret>,
    /// Kernel arguments for the network of the installed system (`IP_OPTIONS`).
    pub ip_options: String,
    /// The proxies by which the image is pulled.
    pub proxies: Proxies,
    /// The keys of those who may log in as the user `core` (`IRONIC_RAMDISK_SSH_KEY`).
    pub ssh_keys: Vec<SshPublicKey>,
    /// On which interfaces the agent makes one for each VLAN that the switch announces (`IRONIC_AGENT_VLAN_INTERFACES`).
    pub vlan_interfaces: VlanInterfaces,
    /// Further NTP servers (`ADDITIONAL_NTP_SERVERS`).
    pub ntp_servers: Vec<String>,
    /// Certificates that the host is to trust, in PEM (the content of `CA_BUNDLE`).
    pub ca_bundle: Option<Bytes>,
    /// Certificates to verify Ironic's with, in PEM (the content of `IRONIC_CA_BUNDLE`). Without them, it is not verified.
    pub ironic_ca_bundle: Option<Bytes>,
    /// `registries.conf` of the container tools (the content of `REGISTRIES_CONF_PATH`).
    pub registries_conf: Option<Bytes>,
}

impl fmt::Debug for AgentSettings {
    /// Without pull secret, proxies and URLs, which may hold passwords.
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
    /// What is reached without.
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
    /// On all interfaces of hosts whose network nobody described.
    #[default]
    Auto,
}

impl From<&str> for VlanInterfaces {
    /// `always` or `never` in any case; everything else leaves it open.
    fn from(text: &str) -> Self {
        match text.trim().to_ascii_lowercase().as_str() {
            "always" => Self::Always,
            "never" => Self::Never,
            _ => Self::Auto,
        }
    }
}

/// What is told to the agent of one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentHost<'a> {
    /// Its name; none where it is not known, or empty.
    pub hostname: Option<&'a str>,
    /// Whether somebody described its network.
    pub has_network_data: bool,
    /// How many keyfiles that gave.
    pub keyfiles: usize,
}
