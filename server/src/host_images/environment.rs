//! The settings for hosts' images, by the names of the environment variables of openshift/image-customization-controller.

use std::fmt;
use std::path::PathBuf;

use imagelib::ignition::{SshPublicKey, SshPublicKeyError};

use super::discovery::BasePatterns;
use crate::ironic_agent::{AgentSettings, Proxies};

/// Where the pull secret is mounted, if no variable holds it.
const PULL_SECRET: &str = "/run/secrets/pull-secret";

/// Why the environment is not valid.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable that image-customization-controller requires is not set.
    #[error("required key {0} missing value")]
    Missing(&'static str),
    /// An SSH key that nobody could log in with.
    #[error("IRONIC_RAMDISK_SSH_KEY, line {line}: {source}")]
    SshKey {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        source: SshPublicKeyError,
    },
}

/// The settings from the environment. The files that it names are not read yet.
#[derive(Clone, Default)]
pub struct Environment {
    /// The base images.
    pub(super) bases: BasePatterns,
    /// What the agent gets, without the content of files.
    pub(super) agent: AgentSettings,
    /// Whether `IRONIC_AGENT_IMAGE` is set. Without it, CoreOS images start no agent.
    pub(super) starts_agent: bool,
    /// `IRONIC_AGENT_PULL_SECRET`: in base64.
    pub(super) pull_secret: Option<String>,
    /// The file with the pull secret, if the variable is not set.
    pub(super) pull_secret_file: PathBuf,
    /// `REGISTRIES_CONF_PATH`.
    pub(super) registries_conf: Option<PathBuf>,
    /// `CA_BUNDLE`.
    pub(super) ca_bundle: Option<PathBuf>,
    /// `IRONIC_CA_BUNDLE`.
    pub(super) ironic_ca_bundle: Option<PathBuf>,
    /// `IRONIC_ROOTFS_URL`.
    pub(super) rootfs_url: Option<String>,
}

impl fmt::Debug for Environment {
    /// Without the pull secret, and without proxies and URLs, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("bases", &self.bases).finish_non_exhaustive()
    }
}

impl Environment {
    /// Reads the environment through `variable`. With `strict`, the variables that image-customization-controller requires
    /// must be set, even if to an empty value.
    pub fn read(variable: impl Fn(&str) -> Option<String>, strict: bool) -> Result<Self, EnvironmentError> {
        for required in ["DEPLOY_ISO", "DEPLOY_INITRD", "IRONIC_AGENT_IMAGE"] {
            if strict && variable(required).is_none() {
                return Err(EnvironmentError::Missing(required));
            }
        }
        let given = |name| variable(name).filter(|value| !value.trim().is_empty());
        let text = |name| given(name).unwrap_or_default();
        let path = |name| given(name).map(PathBuf::from);
        // With `strict`, an empty image is an error of every build, as in image-customization-controller.
        let agent_image = variable("IRONIC_AGENT_IMAGE").filter(|image| strict || !image.is_empty());
        Ok(Self {
            bases: BasePatterns {
                iso: path("DEPLOY_ISO").unwrap_or_default(),
                initrd: path("DEPLOY_INITRD").unwrap_or_default(),
                kernel: path("DEPLOY_KERNEL"),
                shared_dir: path("IMAGE_SHARED_DIR"),
            },
            starts_agent: agent_image.is_some(),
            agent: AgentSettings {
                image: agent_image.unwrap_or_default(),
                ironic_urls: text("IRONIC_BASE_URL"),
                inspector_urls: text("IRONIC_INSPECTOR_BASE_URL"),
                vlan_interfaces: text("IRONIC_AGENT_VLAN_INTERFACES").as_str().into(),
                ssh_keys: ssh_keys(&text("IRONIC_RAMDISK_SSH_KEY"))?,
                ip_options: text("IP_OPTIONS"),
                proxies: Proxies { http: text("HTTP_PROXY"), https: text("HTTPS_PROXY"), no_proxy: text("NO_PROXY") },
                ntp_servers: text("ADDITIONAL_NTP_SERVERS").split(',').map(|server| server.trim().to_owned()).collect(),
                ..AgentSettings::default()
            },
            pull_secret: given("IRONIC_AGENT_PULL_SECRET"),
            pull_secret_file: path("IRONIC_AGENT_PULL_SECRET_FILE").unwrap_or_else(|| PULL_SECRET.into()),
            registries_conf: path("REGISTRIES_CONF_PATH"),
            ca_bundle: path("CA_BUNDLE"),
            ironic_ca_bundle: path("IRONIC_CA_BUNDLE"),
            rootfs_url: given("IRONIC_ROOTFS_URL"),
        })
    }

    /// The variables that are set, and that apply only to a CoreOS that starts the agent.
    pub(super) fn for_agents_of_coreos(&self) -> Vec<&'static str> {
        let all = [
            ("IRONIC_AGENT_PULL_SECRET", self.pull_secret.is_some()),
            ("IRONIC_RAMDISK_SSH_KEY", !self.agent.ssh_keys.is_empty()),
            ("REGISTRIES_CONF_PATH", self.registries_conf.is_some()),
            ("IP_OPTIONS", !self.agent.ip_options.is_empty()),
            ("ADDITIONAL_NTP_SERVERS", self.agent.ntp_servers.iter().any(|server| !server.is_empty())),
            ("CA_BUNDLE", self.ca_bundle.is_some()),
        ];
        all.into_iter().filter_map(|(name, is_set)| is_set.then_some(name)).collect()
    }
}

/// Reads SSH keys, one a line. Like an `authorized_keys` file, the text may have empty lines and comments (`sshd(8)`,
/// `AUTHORIZED_KEYS FILE FORMAT`).
fn ssh_keys(text: &str) -> Result<Vec<SshPublicKey>, EnvironmentError> {
    let is_key = |line: &str| !line.is_empty() && !line.starts_with('#');
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| is_key(line));
    let keys = lines
        .map(|(number, line)| line.parse().map_err(|source| EnvironmentError::SshKey { line: number + 1, source }));
    keys.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn read(variables: &[(&str, &str)], strict: bool) -> Result<Environment, String> {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        let variable = |name: &str| variables.get(name).map(ToString::to_string);
        Environment::read(variable, strict).map_err(|error| error.to_string())
    }

    #[test]
    fn upstreams_required_variables_are_required_only_in_strict_mode() {
        assert!(read(&[], false).is_ok());
        let error = read(&[("DEPLOY_ISO", "/iso"), ("IRONIC_AGENT_IMAGE", "")], true).err();
        assert_eq!(error.as_deref(), Some("required key DEPLOY_INITRD missing value"));
        let empty = read(&[("DEPLOY_ISO", ""), ("DEPLOY_INITRD", ""), ("IRONIC_AGENT_IMAGE", "")], true).unwrap();
        assert_eq!((empty.bases.iso, empty.starts_agent, empty.agent.image.as_str()), (PathBuf::new(), true, ""));
        assert!(!read(&[("IRONIC_AGENT_IMAGE", "")], false).unwrap().starts_agent);
    }

    #[test]
    fn variables_that_only_a_coreos_with_the_agent_uses_are_listed() {
        let nothing = [("ADDITIONAL_NTP_SERVERS", " , "), ("IRONIC_BASE_URL", "http://a"), ("CA_BUNDLE", " ")];
        assert_eq!(read(&nothing, false).unwrap().for_agents_of_coreos(), [""; 0]);
        let something = [("ADDITIONAL_NTP_SERVERS", "a,b"), ("CA_BUNDLE", "/ca.crt")];
        assert_eq!(read(&something, false).unwrap().for_agents_of_coreos(), ["ADDITIONAL_NTP_SERVERS", "CA_BUNDLE"]);
    }

    #[test]
    fn ssh_keys_are_read_one_a_line() {
        const KEY: &str =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDvSCYUhGduzFdqUcE1zxjdSIlvJN/I3Vknp8ot8UKId one@example";
        let two = format!("# operators\n{KEY}\n\n  # more\n  {}\n", KEY.replace("one", "two"));
        assert_eq!(read(&[("IRONIC_RAMDISK_SSH_KEY", &two)], false).unwrap().agent.ssh_keys.len(), 2);
        let error = read(&[("IRONIC_RAMDISK_SSH_KEY", "\nnonsense")], false).err().unwrap();
        assert!(error.starts_with("IRONIC_RAMDISK_SSH_KEY, line 2: ") && !error.contains("nonsense"), "{error}");
    }
}
