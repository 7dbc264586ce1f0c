//! The files for a ramdisk that contains and starts the agent, such as those of ironic-python-agent-builder.

use bytes::Bytes;
use imagelib::ignition::{ExtraFile, FileMode};

use super::{AgentError, AgentHost, AgentSettings, IRONIC_CA_PATH, agent_configuration};

/// The agent reads this file after the ramdisk's own configuration: its service sets `--config-dir` to this directory.
const CONFIGURATION: &str = "/etc/ironic-python-agent.d/90-dayone.conf";

/// The agent's configuration, and the certificates that it names.
pub fn ramdisk_files(settings: &AgentSettings, host: &AgentHost<'_>) -> Result<Vec<ExtraFile>, AgentError> {
    let mut files = vec![file(CONFIGURATION, agent_configuration(settings, host)?.into())?];
    if let Some(bundle) = &settings.ironic_ca_bundle {
        files.push(file(IRONIC_CA_PATH, bundle.pem().clone())?);
    }
    Ok(files)
}

fn file(path: &str, contents: Bytes) -> Result<ExtraFile, AgentError> {
    Ok(ExtraFile { path: path.parse()?, mode: FileMode::default(), user: 0, group: 0, contents })
}
