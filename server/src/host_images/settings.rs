//! What goes into every image: the environment, and what is in the files that it names. Files are read again while the
//! program runs: a renewed certificate or pull secret is in the images without a restart.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::environment::Environment;
use crate::ironic_agent::{AgentError, AgentSettings, Proxies, PullSecret};

/// No file of these is larger.
const LARGEST: u64 = 4 << 20;

/// Why no image can be made at the moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SettingsError {
    /// A file cannot be read.
    #[error("failed to read {what} from {}: {problem}", path.display())]
    File {
        /// What it is.
        what: &'static str,
        /// Where it should be.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
    /// A file is read, and is not what it should be.
    #[error("{0}")]
    Agent(String),
}

/// What the agent is told, with the files as they are now.
pub(super) fn read(environment: &Environment) -> Result<AgentSettings, SettingsError> {
    let pull_secret = match &environment.pull_secret {
        Some(secret) => Some(secret.clone().into_bytes()),
        None => optional("the pull secret", &environment.pull_secret_file)?,
    };
    let pull_secret = pull_secret.filter(|secret| !secret.trim_ascii().is_empty());
    Ok(AgentSettings {
        image: environment.agent_image.clone().unwrap_or_default(),
        ironic_urls: environment.ironic_urls.clone(),
        inspector_urls: environment.inspector_urls.clone(),
        pull_secret: pull_secret.map(|secret| PullSecret::from_base64(&secret)).transpose()?,
        ip_options: environment.ip_options.clone(),
        proxies: Proxies {
            http: environment.http_proxy.clone(),
            https: environment.https_proxy.clone(),
            no_proxy: environment.no_proxy.clone(),
        },
        ssh_keys: environment.ssh_keys.clone(),
        vlan_interfaces: environment.vlan_interfaces,
        ntp_servers: environment.ntp_servers.clone(),
        ca_bundle: named("the CA bundle", environment.ca_bundle.as_deref())?,
        ironic_ca_bundle: named("Ironic's CA bundle", environment.ironic_ca_bundle.as_deref())?,
        registries_conf: named("registries.conf", environment.registries_conf.as_deref())?,
    })
}

impl From<AgentError> for SettingsError {
    fn from(error: AgentError) -> Self {
        Self::Agent(error.to_string())
    }
}

/// A file that a variable names has to be there.
fn named(what: &'static str, path: Option<&Path>) -> Result<Option<Bytes>, SettingsError> {
    let Some(path) = path else { return Ok(None) };
    let failed = |problem| SettingsError::File { what, path: path.to_owned(), problem };
    match optional(what, path)? {
        Some(content) => Ok(Some(content.into())),
        None => Err(failed("it is not there".to_owned())),
    }
}

fn optional(what: &'static str, path: &Path) -> Result<Option<Vec<u8>>, SettingsError> {
    let failed = |problem| SettingsError::File { what, path: path.to_owned(), problem };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(metadata) if metadata.len() > LARGEST => return Err(failed(format!("it has {} bytes", metadata.len()))),
        _ => {}
    }
    fs::read(path).map(Some).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_named_have_to_be_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.crt");
        let pull_secret_file = directory.path().join("pull-secret");
        let environment = Environment { ca_bundle: Some(path.clone()), pull_secret_file, ..Environment::default() };
        let error = read(&environment).unwrap_err().to_string();
        assert!(error.starts_with("failed to read the CA bundle from ") && error.contains("ca.crt"), "{error}");
        fs::write(&path, "PEM").unwrap();
        let settings = read(&environment).unwrap();
        assert_eq!(settings.ca_bundle.as_deref(), Some(&b"PEM"[..]));
        assert!(settings.pull_secret.is_none());
        fs::write(&environment.pull_secret_file, "not base64!").unwrap();
        let error = read(&environment).unwrap_err().to_string();
        assert!(!error.contains("not base64!"), "{error}");
    }
}
