//! The files of the Ignition config.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::{Value, json};
use vocabulary::host::HostName;

use super::{AgentError, AgentHost, AgentSettings, IRONIC_CA_PATH, agent_configuration, banners};

/// The agent's configuration.
pub(super) const CONFIGURATION: &str = "/etc/ironic-python-agent.conf";
/// The pull secret.
pub(super) const AUTHFILE: &str = "/etc/authfile.json";

/// The host's identity for DHCP of IPv6 is its MAC address, which is the same for every system on it (`NetworkManager.conf(5)`).
const CLIENT_ID: &str = "[connection]\nipv6.dhcp-duid=ll\nipv6.dhcp-iaid=mac";

/// The bytes that a `data:` URL has as `%XX`: all but letters, digits and the marks that are allowed in every URL.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

const HOSTNAME_SCRIPT: &str = include_str!("hostname.sh");

/// What Ignition does if the file exists.
enum Existing {
    /// It fails.
    Refuse,
    /// It replaces the file.
    Replace,
    /// It appends the content to the file.
    Append,
}

/// All files, in upstream's order.
pub(super) fn files(
    settings: &AgentSettings,
    host: &AgentHost<'_>,
    hostname: Option<&HostName>,
) -> Result<Vec<Value>, AgentError> {
    use Existing::{Append, Refuse, Replace};
    let mut files = vec![text(CONFIGURATION, 0o644, &Refuse, agent_configuration(settings, host)?.as_bytes())];
    if let Some(secret) = &settings.pull_secret {
        // Upstream sets no mode, so that every user can read the secret.
        files.push(file(AUTHFILE, 0o600, &Refuse, &format!("data:;base64,{}", secret.to_base64())));
    }
    if let Some(bundle) = &settings.ca_bundle {
        files.push(text("/etc/pki/ca-trust/source/anchors/ca.crt", 0o644, &Refuse, bundle));
    }
    files.push(text("/etc/NetworkManager/conf.d/clientid.conf", 0o644, &Refuse, CLIENT_ID.as_bytes()));
    let servers = ntp_servers(settings)?;
    if !servers.is_empty() {
        let lines = format!("\nserver {} iburst\n", servers.join(" iburst\nserver "));
        files.push(text("/etc/chrony.conf", 0o644, &Append, lines.as_bytes()));
    }
    if let Some(name) = hostname {
        let script = HOSTNAME_SCRIPT.replace("@HOSTNAME@", name.as_str());
        files.push(text("/etc/NetworkManager/dispatcher.d/01-hostname", 0o744, &Refuse, script.as_bytes()));
    }
    if let Some(registries) = settings.registries_conf.as_ref().filter(|registries| !registries.is_empty()) {
        files.push(text("/etc/containers/registries.conf", 0o644, &Replace, registries));
    }
    files.push(text("/etc/issue.d/ipa.issue", 0o644, &Refuse, banners::ISSUE.as_bytes()));
    let motd = banners::message_of_the_day(settings, host, hostname)?;
    files.push(text("/etc/motd.d/ipa.motd", 0o644, &Refuse, motd.as_bytes()));
    if let Some(bundle) = &settings.ironic_ca_bundle {
        files.push(text(IRONIC_CA_PATH, 0o644, &Refuse, bundle.pem()));
    }
    Ok(files)
}

/// The additional NTP servers without duplicates. They become lines of chrony's configuration.
fn ntp_servers(settings: &AgentSettings) -> Result<Vec<&str>, AgentError> {
    let mut servers = Vec::new();
    for server in settings.ntp_servers.iter().map(|server| server.trim()).filter(|server| !server.is_empty()) {
        if !server.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:%".contains(&b)) {
            return Err(AgentError::NtpServer(server.chars().take(256).collect()));
        }
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    Ok(servers)
}

fn text(path: &str, mode: u32, existing: &Existing, content: &[u8]) -> Value {
    file(path, mode, existing, &data_url(content))
}

fn file(path: &str, mode: u32, existing: &Existing, source: &str) -> Value {
    match existing {
        Existing::Append => json!({"path": path, "append": [{"source": source}], "mode": mode}),
        Existing::Replace | Existing::Refuse => {
            let overwrite = matches!(existing, Existing::Replace);
            json!({"overwrite": overwrite, "path": path, "contents": {"source": source}, "mode": mode})
        }
    }
}

/// The content as a `data:` URL (RFC 2397), in which text stays readable.
fn data_url(content: &[u8]) -> String {
    format!("data:text/plain,{}", percent_encode(content, ESCAPED))
}
