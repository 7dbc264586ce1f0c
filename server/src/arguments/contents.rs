//! What the images of `dayone controller` and `dayone static-server` contain. The variables are those of
//! openshift/image-customization-controller; the options and the names in a settings file are the same words.

use std::fmt;

use clap::Args;

/// What the images contain.
#[derive(Clone, Default, Args)]
#[command(next_help_heading = "Contents of the images")]
pub struct ContentsArguments {
    /// Base ISO for this machine's architecture, and the pattern for the names of the others
    #[arg(long, env = "DEPLOY_ISO", value_name = "FILE")]
    pub deploy_iso: Option<String>,

    /// Base initramfs, in the same way
    #[arg(long, env = "DEPLOY_INITRD", value_name = "FILE")]
    pub deploy_initrd: Option<String>,

    /// Kernel of that initramfs, in the same way
    #[arg(long, env = "DEPLOY_KERNEL", value_name = "FILE")]
    pub deploy_kernel: Option<String>,

    /// Directory with more base images
    #[arg(long, env = "IMAGE_SHARED_DIR", value_name = "DIR")]
    pub image_shared_dir: Option<String>,

    /// URL of Ironic's API; separate several with commas
    #[arg(long, env = "IRONIC_BASE_URL", value_name = "URL", hide_env_values = true)]
    pub ironic_base_url: Option<String>,

    /// URL of the inspector, if it is a service of its own
    #[arg(long, env = "IRONIC_INSPECTOR_BASE_URL", value_name = "URL", hide_env_values = true)]
    pub ironic_inspector_base_url: Option<String>,

    /// Container image of the Ironic Python agent, which a CoreOS starts [default: images start no agent]
    #[arg(long, env = "IRONIC_AGENT_IMAGE", value_name = "IMAGE")]
    pub ironic_agent_image: Option<String>,

    /// File with the credentials for pulling that image, in base64. The variable `IRONIC_AGENT_PULL_SECRET` has them itself
    /// [default: /run/secrets/pull-secret, if it exists]
    #[arg(long, env = "IRONIC_AGENT_PULL_SECRET_FILE", value_name = "FILE")]
    pub ironic_agent_pull_secret_file: Option<String>,

    /// Whether the agent creates VLAN interfaces: always, never, or only on hosts without network data [default: auto]
    #[arg(long, env = "IRONIC_AGENT_VLAN_INTERFACES", value_name = "WHEN")]
    pub ironic_agent_vlan_interfaces: Option<String>,

    /// Public SSH keys that may log in as core, one a line
    #[arg(long, env = "IRONIC_RAMDISK_SSH_KEY", value_name = "KEYS")]
    pub ironic_ramdisk_ssh_key: Option<String>,

    /// Certificates (PEM) with which the agent verifies Ironic [default: it does not verify]
    #[arg(long, env = "IRONIC_CA_BUNDLE", value_name = "FILE")]
    pub ironic_ca_bundle: Option<String>,

    /// Certificates (PEM) of authorities that the live system trusts
    #[arg(long, env = "CA_BUNDLE", value_name = "FILE")]
    pub ca_bundle: Option<String>,

    /// File that becomes the live system's registries.conf
    #[arg(long, env = "REGISTRIES_CONF_PATH", value_name = "FILE")]
    pub registries_conf_path: Option<String>,

    /// URL from which an initramfs fetches its root file system
    #[arg(long, env = "IRONIC_ROOTFS_URL", value_name = "URL", hide_env_values = true)]
    pub ironic_rootfs_url: Option<String>,

    /// Kernel arguments for the network of the installed system, such as ip=dhcp
    #[arg(long, env = "IP_OPTIONS", value_name = "ARGUMENTS")]
    pub ip_options: Option<String>,

    /// Additional NTP servers, separated by commas
    #[arg(long, env = "ADDITIONAL_NTP_SERVERS", value_name = "SERVERS")]
    pub additional_ntp_servers: Option<String>,

    /// Proxy for the agent's container, for http
    #[arg(long, env = "HTTP_PROXY", value_name = "URL", hide_env_values = true)]
    pub http_proxy: Option<String>,

    /// Proxy for the agent's container, for https
    #[arg(long, env = "HTTPS_PROXY", value_name = "URL", hide_env_values = true)]
    pub https_proxy: Option<String>,

    /// Hosts that the agent's container reaches without a proxy
    #[arg(long, env = "NO_PROXY", value_name = "HOSTS")]
    pub no_proxy: Option<String>,
}

impl fmt::Debug for ContentsArguments {
    /// Without the values: the URL of a proxy may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentsArguments").finish_non_exhaustive()
    }
}

impl ContentsArguments {
    /// The value of a setting, by the name of its variable. Empty values count.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let value = match name {
            "DEPLOY_ISO" => &self.deploy_iso,
            "DEPLOY_INITRD" => &self.deploy_initrd,
            "DEPLOY_KERNEL" => &self.deploy_kernel,
            "IMAGE_SHARED_DIR" => &self.image_shared_dir,
            "IRONIC_BASE_URL" => &self.ironic_base_url,
            "IRONIC_INSPECTOR_BASE_URL" => &self.ironic_inspector_base_url,
            "IRONIC_AGENT_IMAGE" => &self.ironic_agent_image,
            "IRONIC_AGENT_PULL_SECRET_FILE" => &self.ironic_agent_pull_secret_file,
            "IRONIC_AGENT_VLAN_INTERFACES" => &self.ironic_agent_vlan_interfaces,
            "IRONIC_RAMDISK_SSH_KEY" => &self.ironic_ramdisk_ssh_key,
            "IRONIC_CA_BUNDLE" => &self.ironic_ca_bundle,
            "CA_BUNDLE" => &self.ca_bundle,
            "REGISTRIES_CONF_PATH" => &self.registries_conf_path,
            "IRONIC_ROOTFS_URL" => &self.ironic_rootfs_url,
            "IP_OPTIONS" => &self.ip_options,
            "ADDITIONAL_NTP_SERVERS" => &self.additional_ntp_servers,
            "HTTP_PROXY" => &self.http_proxy,
            "HTTPS_PROXY" => &self.https_proxy,
            "NO_PROXY" => &self.no_proxy,
            _ => &None,
        };
        value.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    #[test]
    fn the_debug_output_has_no_passwords() {
        let contents =
            ContentsArguments { http_proxy: Some("http://user:hunter2@192.0.2.1".to_owned()), ..Default::default() };
        assert_eq!(format!("{contents:?}"), "ContentsArguments { .. }");
    }

    #[test]
    fn every_option_is_found_by_its_variable() {
        let command = ContentsArguments::augment_args(Command::new("contents"));
        let options = command.get_arguments().map(|arg| (arg.get_long().unwrap(), arg.get_env().unwrap()));
        let options: Vec<_> = options.map(|(long, env)| (long.to_owned(), env.to_str().unwrap().to_owned())).collect();
        let words = options.iter().map(|(long, _)| format!("--{long}=of {long}"));
        let matches = command.clone().get_matches_from(["contents".to_owned()].into_iter().chain(words));
        let contents = ContentsArguments::from_arg_matches(&matches).unwrap();
        for (long, variable) in options {
            assert_eq!(contents.variable(&variable), Some(format!("of {long}").as_str()));
        }
    }
}
