//! What makes a CoreOS live system start the Ironic Python agent: an Ignition config with the agent's configuration and
//! the systemd unit that runs its container, the same files in the same places as those of Metal3's
//! image-customization-controller, whose settings it takes.
//!
//! Pure: it reads no file and no environment. Keyfiles are not in the config; they are a recipe's additions.

mod banners;
mod configuration;
mod files;
mod pull_secret;
mod ramdisk;
mod settings;
mod unit;
mod urls;

use std::collections::BTreeSet;

use imagelib::ignition::{AdditionsError, IgnitionError, SshPublicKey, UserConfig};
use serde_json::json;
use vocabulary::host::{HostError, HostName};

pub use configuration::agent_configuration;
pub use pull_secret::PullSecret;
pub use ramdisk::ramdisk_files;
pub use settings::{AgentHost, AgentSettings, Proxies, VlanInterfaces};
pub use urls::rootfs_url;

/// Where the certificates are that the agent verifies Ironic's with: on the host, and in the agent's container. The
/// agent reads its directory's `*.conf` and nothing else in it.
pub const IRONIC_CA_PATH: &str = "/etc/ironic-python-agent/ironic-ca.crt";

/// Why there is no config that starts the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// No image of the agent's container.
    #[error("ironicAgentImage is required: set IRONIC_AGENT_IMAGE to the agent's container image")]
    ImageMissing,
    /// No address of Ironic.
    #[error("ironicBaseURL is required: set IRONIC_BASE_URL to the URL of Ironic's API")]
    IronicUrlMissing,
    /// Something that podman would not take for an image.
    #[error(
        "IRONIC_AGENT_IMAGE: {0:?} is not the name of a container image (such as registry.example.com/ironic-agent:v1)"
    )]
    Image(String),
    /// A list without one address that could be used. Not shown: URLs may hold passwords.
    #[error("{0}: none of its items is a URL; write http(s)://HOST[:PORT], and commas between several")]
    Urls(&'static str),
    /// A setting that would become several lines.
    #[error("{0} holds a line break or another control character; make it one line of text")]
    ControlCharacter(&'static str),
    /// A pull secret that is not base64. Never shown, in this or in another form.
    #[error("the pull secret is not base64; give the base64 of a .dockerconfigjson (base64 -w0 config.json)")]
    PullSecretEncoding,
    /// A pull secret that is none behind its base64.
    #[error(
        "the pull secret is base64, but not of a JSON object such as {{\"auths\": …}}; it may be encoded more than once"
    )]
    PullSecretJson,
    /// Something that chrony would not take for a server.
    #[error("ADDITIONAL_NTP_SERVERS: {0:?} is neither a host name nor an IP address")]
    NtpServer(String),
    /// Nothing to verify Ironic with.
    #[error("IRONIC_CA_BUNDLE holds no certificate in PEM; with it, the agent would trust no Ironic")]
    NoCertificate,
    /// A host's name that is none.
    #[error(transparent)]
    HostName(#[from] HostError),
    /// A mistake in dayone.
    #[error("the Ignition config that starts the agent is not valid, which is a mistake in dayone: {0}")]
    Ignition(#[from] IgnitionError),
    /// A mistake in dayone.
    #[error(transparent)]
    File(#[from] AdditionsError),
}

/// The Ignition config that starts the agent on this host.
pub fn ignition(settings: &AgentSettings, host: &AgentHost<'_>) -> Result<UserConfig, AgentError> {
    let hostname = host_name(host)?;
    let mut config = json!({
        "ignition": {"version": "3.2.0"},
        "storage": {"files": files::files(settings, host, hostname.as_ref())?},
        "systemd": {"units": [{
            "name": unit::NAME,
            "enabled": true,
            "contents": unit::unit(settings, host, hostname.as_ref())?,
        }]},
    });
    // Ignition refuses a key that is there twice.
    let keys: BTreeSet<&SshPublicKey> = settings.ssh_keys.iter().collect();
    if let Some(config) = config.as_object_mut().filter(|_| !keys.is_empty()) {
        config.insert("passwd".into(), json!({"users": [{"name": "core", "sshAuthorizedKeys": keys}]}));
    }
    Ok(UserConfig::parse(config.to_string().as_bytes())?)
}

/// The host's name, which is written into a script and a unit. Kubernetes has names of up to 253 characters and Linux of
/// 64; of a longer one its first label is taken, as systemd and NetworkManager do.
fn host_name(host: &AgentHost<'_>) -> Result<Option<HostName>, AgentError> {
    let Some(name) = host.hostname.filter(|name| !name.is_empty()) else { return Ok(None) };
    match name.split_once('.') {
        Some((label, _)) if name.len() > 64 && name.split('.').all(|label| label.parse::<HostName>().is_ok()) => {
            Ok(Some(label.parse()?))
        }
        _ => Ok(Some(name.parse()?)),
    }
}

/// A setting that becomes one line, without white space around it.
fn one_line<'s>(setting: &'static str, text: &'s str) -> Result<&'s str, AgentError> {
    let text = text.trim();
    if text.chars().any(char::is_control) { Err(AgentError::ControlCharacter(setting)) } else { Ok(text) }
}

/// The agent's container image. It stands in the unit without quotes, so that nothing but a name can be one.
fn image(settings: &AgentSettings) -> Result<&str, AgentError> {
    let image = one_line("IRONIC_AGENT_IMAGE", &settings.image)?;
    let first = |b: &u8| b.is_ascii_alphanumeric() || *b == b'[';
    match image.as_bytes().first() {
        None => Err(AgentError::ImageMissing),
        Some(b) if first(b) && image.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+:/@[]".contains(&b)) => {
            Ok(image)
        }
        Some(_) => Err(AgentError::Image(image.chars().take(256).collect())),
    }
}

#[cfg(test)]
mod tests;
