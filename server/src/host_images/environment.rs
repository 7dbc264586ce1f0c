//! What the environment says goes into hosts' images: the variables of openshift/image-customization-controller.

use std::fmt;
use std::path::PathBuf;

use imagelib::ignition::{SshPublicKey, SshPublicKeyError};

use crate::ironic_agent::VlanInterfaces;

/// Where the pull secret is mounted, if no variable holds it.
const PULL_SECRET: &str = "/run/secrets/pull-secret";

/// Why the environment cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable that image-customization-controller wants is not set.
    #[error("required key {0} missing value")]
    Missing(&'static str),
    /// A key that nobody could log in with.
    #[error("IRONIC_RAMDISK_SSH_KEY, line {line}: {source}")]
    SshKey {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        source: SshPublicKeyError,
    },
}

/// What the environment says. Paths are as they are given; nothing is read yet.
#[derive(Clone, Default)]
pub struct Environment {
    /// `DEPLOY_ISO`: the ISO for this machine's architecture, and the pattern of the others' names.
    pub iso: Option<PathBuf>,
    /// `DEPLOY_INITRD`: the same for the initramfs.
    pub initrd: Option<PathBuf>,
    /// `DEPLOY_KERNEL`: the same for the kernel.
    pub kernel: Option<PathBuf>,
    /// `IMAGE_SHARED_DIR`: a directory with more of them.
    pub shared_dir: Option<PathBuf>,
    /// `IRONIC_AGENT_IMAGE`: the agent's container; without it, CoreOS images start no agent.
    pub agent_image: Option<String>,
    /// `IRONIC_BASE_URL`: Ironic's addresses.
    pub ironic_urls: String,
    /// `IRONIC_INSPECTOR_BASE_URL`: its inspector's.
    pub inspector_urls: String,
    /// `IRONIC_AGENT_PULL_SECRET`: in base64.
    pub pull_secret: Option<String>,
    /// Where it is otherwise.
    pub pull_secret_file: PathBuf,
    /// `IRONIC_AGENT_VLAN_INTERFACES`.
    pub vlan_interfaces: VlanInterfaces,
    /// `IRONIC_RAMDISK_SSH_KEY`: one or more, a line each.
    pub ssh_keys: Vec<SshPublicKey>,
    /// `REGISTRIES_CONF_PATH`.
    pub registries_conf: Option<PathBuf>,
    /// `IP_OPTIONS`.
    pub ip_options: String,
    /// `HTTP_PROXY`.
    pub http_proxy: String,
    /// `HTTPS_PROXY`.
    pub https_proxy: String,
    /// `NO_PROXY`.
    pub no_proxy: String,
    /// `ADDITIONAL_NTP_SERVERS`.
    pub ntp_servers: Vec<String>,
    /// `CA_BUNDLE`.
    pub ca_bundle: Option<PathBuf>,
    /// `IRONIC_CA_BUNDLE`.
    pub ironic_ca_bundle: Option<PathBuf>,
    /// `IRONIC_ROOTFS_URL`.
    pub rootfs_url: Option<String>,
}

impl fmt::Debug for Environment {
    /// Without the pull secret, and proxies and URLs, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("iso", &self.iso).field("initrd", &self.initrd).finish_non_exhaustive()
    }
}

impl Environment {
    /// Reads the environment through `variable`. `strict`: what image-customization-controller demands has to be set,
    /// if only to nothing.
    pub fn read(variable: impl Fn(&str) -> Option<String>, strict: bool) -> Result<Self, EnvironmentError> {
        for required in ["DEPLOY_ISO", "DEPLOY_INITRD", "IRONIC_AGENT_IMAGE"] {
            if strict && variable(required).is_none() {
                return Err(EnvironmentError::Missing(required));
            }
        }
        let given = |name| variable(name).filter(|value| !value.trim().is_empty());
        let text = |name| given(name).unwrap_or_default();
        let path = |name| given(name).map(PathBuf::from);
        Ok(Self {
            iso: path("DEPLOY_ISO"),
            initrd: path("DEPLOY_INITRD"),
            kernel: path("DEPLOY_KERNEL"),
            shared_dir: path("IMAGE_SHARED_DIR"),
            // Set to nothing, it is an error of every build, as deployments know it.
            agent_image: variable("IRONIC_AGENT_IMAGE").filter(|image| strict || !image.is_empty()),
            ironic_urls: text("IRONIC_BASE_URL"),
            inspector_urls: text("IRONIC_INSPECTOR_BASE_URL"),
            pull_secret: given("IRONIC_AGENT_PULL_SECRET"),
            pull_secret_file: PULL_SECRET.into(),
            vlan_interfaces: text("IRONIC_AGENT_VLAN_INTERFACES").as_str().into(),
            ssh_keys: ssh_keys(&text("IRONIC_RAMDISK_SSH_KEY"))?,
            registries_conf: path("REGISTRIES_CONF_PATH"),
            ip_options: text("IP_OPTIONS"),
            http_proxy: text("HTTP_PROXY"),
            https_proxy: text("HTTPS_PROXY"),
            no_proxy: text("NO_PROXY"),
            ntp_servers: text("ADDITIONAL_NTP_SERVERS").split(',').map(|server| server.trim().to_owned()).collect(),
            ca_bundle: path("CA_BUNDLE"),
            ironic_ca_bundle: path("IRONIC_CA_BUNDLE"),
            rootfs_url: given("IRONIC_ROOTFS_URL"),
        })
    }
}

impl Environment {
    /// What is set and goes into nothing but a CoreOS that starts the agent.
    pub(super) fn for_agents_of_coreos(&self) -> Vec<&'static str> {
        let all = [
            ("IRONIC_AGENT_PULL_SECRET", self.pull_secret.is_some()),
            ("IRONIC_RAMDISK_SSH_KEY", !self.ssh_keys.is_empty()),
            ("REGISTRIES_CONF_PATH", self.registries_conf.is_some()),
            ("IP_OPTIONS", !self.ip_options.is_empty()),
            ("ADDITIONAL_NTP_SERVERS", self.ntp_servers.iter().any(|server| !server.is_empty())),
            ("CA_BUNDLE", self.ca_bundle.is_some()),
        ];
        all.into_iter().filter_map(|(name, is_set)| is_set.then_some(name)).collect()
    }
}

/// The keys in a text of one a line, as an install-config has them; like an `authorized_keys` file it may have empty lines
/// and comments (`sshd(8)`, `AUTHORIZED_KEYS FILE FORMAT`).
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
    fn what_upstream_demands_is_demanded_under_its_names_only() {
        assert!(read(&[], false).is_ok());
        let error = read(&[("DEPLOY_ISO", "/iso"), ("IRONIC_AGENT_IMAGE", "")], true).err();
        assert_eq!(error.as_deref(), Some("required key DEPLOY_INITRD missing value"));
        let empty = read(&[("DEPLOY_ISO", ""), ("DEPLOY_INITRD", ""), ("IRONIC_AGENT_IMAGE", "")], true).unwrap();
        assert_eq!((empty.iso, empty.agent_image.as_deref()), (None, Some("")));
        assert_eq!(read(&[("IRONIC_AGENT_IMAGE", "")], false).unwrap().agent_image, None);
    }

    #[test]
    fn what_only_a_coreos_with_the_agent_gets_is_known_by_name() {
        let nothing = [("ADDITIONAL_NTP_SERVERS", " , "), ("IRONIC_BASE_URL", "http://a"), ("CA_BUNDLE", " ")];
        assert_eq!(read(&nothing, false).unwrap().for_agents_of_coreos(), [""; 0]);
        let something = [("ADDITIONAL_NTP_SERVERS", "a,b"), ("CA_BUNDLE", "/ca.crt")];
        assert_eq!(read(&something, false).unwrap().for_agents_of_coreos(), ["ADDITIONAL_NTP_SERVERS", "CA_BUNDLE"]);
    }

    #[test]
    fn several_keys_stand_on_lines_of_their_own() {
        const KEY: &str =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDvSCYUhGduzFdqUcE1zxjdSIlvJN/I3Vknp8ot8UKId one@example";
        let two = format!("# operators\n{KEY}\n\n  # more\n  {}\n", KEY.replace("one", "two"));
        assert_eq!(read(&[("IRONIC_RAMDISK_SSH_KEY", &two)], false).unwrap().ssh_keys.len(), 2);
        let error = read(&[("IRONIC_RAMDISK_SSH_KEY", "\nnonsense")], false).err().unwrap();
        assert!(error.starts_with("IRONIC_RAMDISK_SSH_KEY, line 2: ") && !error.contains("nonsense"), "{error}");
    }
}
