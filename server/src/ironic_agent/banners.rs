//! The texts that users of a host see before and after the login.

use std::fmt::Write;

use vocabulary::host::HostName;

use super::configuration::{inspection_urls, ironic_urls};
use super::{AgentError, AgentHost, AgentSettings, image};

/// The text before the login (`issue(5)`).
pub(super) const ISSUE: &str = "\n\
    Ironic Python Agent discovery image\n\
    This system runs in memory. It inspects this machine, cleans it or installs it, as Ironic says.\n\n";

const COMMANDS: &str = "\n\
    Useful commands:\n  \
      systemctl status ironic-agent     does the agent run?\n  \
      journalctl -b -u ironic-agent     why it did not start, such as an image that cannot be pulled\n  \
      podman logs -f ironic-agent       what the agent does\n  \
      nmcli device                      the network as it is\n  \
      nmcli connection                  the network as it was configured\n\n";

/// The text after the login (`motd(5)`): the settings of this system, and commands that show what it does.
pub(super) fn message_of_the_day(
    settings: &AgentSettings,
    host: &AgentHost<'_>,
    hostname: Option<&HostName>,
) -> Result<String, AgentError> {
    let inspection = inspection_urls(settings)?;
    let known = [
        ("Ironic", ironic_urls(settings)?),
        ("Inspection", inspection),
        ("Agent", image(settings)?.to_owned()),
        ("Host name", hostname.map(ToString::to_string).unwrap_or_default()),
        ("Network", if host.has_network_data { "Custom NMState configuration" } else { "" }.to_owned()),
    ];
    let mut text = String::from("\nIronic Python Agent discovery image\n\n");
    for (name, value) in known.iter().filter(|(_, value)| !value.is_empty()) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {:<12}{value}", format!("{name}:"));
    }
    Ok(text + COMMANDS)
}
