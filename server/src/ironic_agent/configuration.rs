//! `ironic-python-agent.conf`, in the form of oslo.config.

use super::{AgentError, AgentHost, AgentSettings, IRONIC_CA_PATH, VlanInterfaces, urls};

/// Ironic's port (`[api]port`).
const IRONIC_PORT: u16 = 6385;
/// Ironic Inspector's port.
const INSPECTOR_PORT: u16 = 5050;

/// The URLs of Ironic's API.
pub(super) fn ironic_urls(settings: &AgentSettings) -> Result<String, AgentError> {
    let urls = urls::list("IRONIC_BASE_URL", &settings.ironic_urls, IRONIC_PORT, "")?;
    if urls.is_empty() { Err(AgentError::IronicUrlMissing) } else { Ok(urls) }
}

/// The URLs for the results of an inspection; empty if they go to Ironic itself.
pub(super) fn inspection_urls(settings: &AgentSettings) -> Result<String, AgentError> {
    urls::list("IRONIC_INSPECTOR_BASE_URL", &settings.inspector_urls, INSPECTOR_PORT, "/v1/continue")
}

/// The agent's configuration: the URLs of Ironic, and options for inspection.
pub fn agent_configuration(settings: &AgentSettings, host: &AgentHost<'_>) -> Result<String, AgentError> {
    let ironic = value(&ironic_urls(settings)?);
    let inspection = value(&inspection_urls(settings)?);
    // The agent's container also has the file in its environment. An agent without a container has only `cafile`.
    let trust = match &settings.ironic_ca_bundle {
        Some(_) => format!("insecure = False\ncafile = {IRONIC_CA_PATH}"),
        None => "insecure = True".into(),
    };
    let vlans = match settings.vlan_interfaces {
        VlanInterfaces::Always => "all",
        VlanInterfaces::Auto if !host.has_network_data => "all",
        VlanInterfaces::Auto | VlanInterfaces::Never => "",
    };
    Ok(format!(
        "\n[DEFAULT]\napi_url = {ironic}\ninspection_callback_url = {inspection}\n{trust}\nenable_vlan_interfaces = {vlans}\n"
    ))
}

/// Escapes a value: oslo.config replaces `$name` with the value of another option.
fn value(text: &str) -> String {
    text.replace('$', "$$")
}
