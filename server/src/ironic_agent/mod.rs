//! Makes the Ignition config with which a CoreOS live system starts the Ironic Python agent. It has the agent's configuration,
//! and the systemd unit that runs the agent's container. Files and settings are those of Metal3's
//! image-customization-controller.
//!
//! Pure: it reads no file and no environment variable. The config has no keyfiles; these are additions of the recipe.

mod banners;
mod ca_bundle;
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

pub use ca_bundle::IronicCaBundle;
pub use configuration::agent_configuration;
pub use pull_secret::PullSecret;
pub use ramdisk::ramdisk_files;
pub use settings::{AgentHost, AgentSettings, Proxies, VlanInterfaces};
pub use urls::rootfs_url;

/// The file with the certificates for verifying Ironic, on the host and in the agent's container. In this directory, the agent
/// reads only `*.conf` by itself.
pub const IRONIC_CA_PATH: &str = "/etc/ironic-python-agent/ironic-ca.crt";

/// Why no config can be made that starts the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The agent's container image is not set.
    #[error("ironicAgentImage is required: set IRONIC_AGENT_IMAGE to the agent's container image")]
    ImageMissing,
    /// The URL of Ironic is not set.
    #[error("ironicBaseURL is required: set IRONIC_BASE_URL to the URL of Ironic's API")]
    IronicUrlMissing,
    /// podman would refuse the name of the image.
    #[error(
        "IRONIC_AGENT_IMAGE: {0:?} is not the name of a container image (such as registry.example.com/ironic-agent:v1)"
    )]
    Image(String),
    /// A list has no valid URL. The text does not show the list, because URLs may have passwords.
    #[error("{0}: none of its items is a URL; write http(s)://HOST[:PORT], and commas between several")]
    Urls(&'static str),
    /// A setting has several lines.
    #[error("{0} holds a line break or another control character; make it one line of text")]
    ControlCharacter(&'static str),
    /// Ignition would refuse the unit with a setting in it.
    #[error(
        "{0} is too long: Ignition refuses a systemd unit with a line of 2048 bytes or more; shorten it (one domain or \
         network can stand for many hosts)"
    )]
    TooLong(&'static str),
    /// The pull secret is not base64. No text shows it.
    #[error("the pull secret is not base64; give the base64 of a .dockerconfigjson (base64 -w0 config.json)")]
    PullSecretEncoding,
    /// The pull secret is base64, but not of JSON.
    #[error(
        "the pull secret is base64, but not of a JSON object such as {{\"auths\": …}}; it may be encoded more than once"
    )]
    PullSecretJson,
    /// chrony would refuse the name of the server.
    #[error("ADDITIONAL_NTP_SERVERS: {0:?} is neither a host name nor an IP address")]
    NtpServer(String),
    /// The bundle has no certificate.
    #[error("IRONIC_CA_BUNDLE holds no certificate in PEM; with it, the agent would trust no Ironic")]
    NoCertificate,
    /// The host's name is not valid.
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
    // Ignition refuses duplicate keys.
    let keys: BTreeSet<&SshPublicKey> = settings.ssh_keys.iter().collect();
    if let Some(config) = config.as_object_mut().filter(|_| !keys.is_empty()) {
        config.insert("passwd".into(), json!({"users": [{"name": "core", "sshAuthorizedKeys": keys}]}));
    }
    Ok(UserConfig::parse(config.to_string().as_bytes())?)
}

/// The host's name, for a script and a unit. Names in Kubernetes have up to 253 characters, and in Linux up to 64. For a longer
/// name, this returns the first label, as systemd and NetworkManager do.
fn host_name(host: &AgentHost<'_>) -> Result<Option<HostName>, AgentError> {
    let Some(name) = host.hostname.filter(|name| !name.is_empty()) else { return Ok(None) };
    match name.split_once('.') {
        Some((label, _)) if name.len() > 64 && name.split('.').all(|label| label.parse::<HostName>().is_ok()) => {
            Ok(Some(label.parse()?))
        }
        _ => Ok(Some(name.parse()?)),
    }
}

/// Trims a setting, and checks that it is one line.
fn one_line<'s>(setting: &'static str, text: &'s str) -> Result<&'s str, AgentError> {
    let text = text.trim();
    if text.chars().any(char::is_control) { Err(AgentError::ControlCharacter(setting)) } else { Ok(text) }
}

/// The agent's container image. The unit has it without quotes, so it must be a plain name.
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
