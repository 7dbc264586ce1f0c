//! The agent's settings: from the environment, and from the files that it names. dayone reads the files again while it
//! runs, so a renewed certificate or pull secret needs no restart.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::environment::Environment;
use crate::ironic_agent::{AgentError, AgentSettings, IronicCaBundle, PullSecret};

/// The maximum size of a file that dayone reads, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Why dayone can make no image at the moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SettingsError {
    /// A file cannot be read.
    #[error("failed to read {what} from {}: {problem}", path.display())]
    File { what: &'static str, path: PathBuf, problem: String },
    /// The content of a file is not valid.
    #[error("{0}")]
    Agent(#[from] AgentError),
}

/// Reads the agent's settings, with the present content of the files.
pub(super) fn read(environment: &Environment) -> Result<AgentSettings, SettingsError> {
    let pull_secret = match &environment.pull_secret {
        Some(secret) => Some(secret.clone().into_bytes()),
        None => optional("the pull secret", &environment.pull_secret_file)?,
    };
    let pull_secret = pull_secret.filter(|secret| !secret.trim_ascii().is_empty());
    let ironic_ca_bundle = named("Ironic's CA bundle", environment.ironic_ca_bundle.as_deref())?;
    Ok(AgentSettings {
        pull_secret: pull_secret.map(|secret| PullSecret::from_base64(&secret)).transpose()?,
        ca_bundle: named("the CA bundle", environment.ca_bundle.as_deref())?,
        ironic_ca_bundle: ironic_ca_bundle.map(IronicCaBundle::from_pem).transpose()?,
        registries_conf: named("registries.conf", environment.registries_conf.as_deref())?,
        ..environment.agent.clone()
    })
}

/// Reads a file that a variable names. It must exist.
fn named(what: &'static str, path: Option<&Path>) -> Result<Option<Bytes>, SettingsError> {
    let Some(path) = path else { return Ok(None) };
    match optional(what, path)? {
        Some(content) => Ok(Some(content.into())),
        None => Err(SettingsError::File { what, path: path.to_owned(), problem: "the file does not exist".to_owned() }),
    }
}

fn optional(what: &'static str, path: &Path) -> Result<Option<Vec<u8>>, SettingsError> {
    let failed = |problem| SettingsError::File { what, path: path.to_owned(), problem };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(metadata) if metadata.len() > MAX_FILE_BYTES => {
            return Err(failed(format!("it has {} bytes, and may have {MAX_FILE_BYTES}", metadata.len())));
        }
        _ => {}
    }
    fs::read(path).map(Some).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_a_variable_names_must_exist() {
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

    /// Otherwise it would be a mistake of each host, and the hosts would lose the images that they have.
    #[test]
    fn a_bundle_for_ironic_without_a_certificate_is_not_valid() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.crt");
        let environment = Environment { ironic_ca_bundle: Some(path.clone()), ..Environment::default() };
        for content in ["", "\n", "-----BEGIN PUBLIC KEY-----\n"] {
            fs::write(&path, content).unwrap();
            assert_eq!(read(&environment), Err(SettingsError::Agent(AgentError::NoCertificate)), "{content}");
        }
        fs::write(&path, "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n").unwrap();
        assert!(read(&environment).unwrap().ironic_ca_bundle.is_some());
    }
}
