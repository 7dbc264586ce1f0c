//! `dayone controller` and `dayone static-server`. Existing deployments also start them with the names and the flags of
//! openshift/image-customization-controller.

use std::net::{Ipv6Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use media::MediaUrl;

use super::contents::ContentsArguments;
use super::program::CommandLine;
use crate::logging::LogFormat;

/// What the long help says about settings.
const SETTINGS: &str = "\
A settings file (YAML) has the names of the options as keys. The environment overrides the file, and the command line overrides \
both. `dayone config check` shows the values and where each comes from. docs/metal3.md explains what the images contain.

Exit codes: 0 a signal stopped the server, 1 the server failed, 2 wrong arguments or settings, 130 or 143 a second signal ended \
the server at once.";

/// The examples in the help text of the controller.
const CONTROLLER_EXAMPLES: &str = "\
Examples:
  dayone controller --namespace metal3 --images-publish-addr http://192.0.2.10:8084
  DEPLOY_ISO=/shared/ironic-python-agent.iso dayone controller --kubeconfig ~/.kube/config
  dayone controller --config controller.yaml";

/// The examples in the help text of the static server.
const STATIC_EXAMPLES: &str = "\
Examples:
  dayone static-server --nmstate-dir hosts/ --deploy-iso live.iso
  DEPLOY_ISO=live.iso dayone static-server --nmstate-dir hosts/ --images-publish-addr http://192.0.2.10:8084
  dayone static-server --config static.yaml";

/// An address to listen on, as Go's `net.Listen` takes it: `:8084` is that port of all addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindAddress(pub SocketAddr);

impl FromStr for BindAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = match text.strip_prefix(':') {
            Some(port) => port.parse().map(|port| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).ok(),
            None => text.replacen("localhost:", "127.0.0.1:", 1).parse().ok(),
        };
        let refuse = || format!("{text:?} is not an address to listen on; write :PORT, ADDRESS:PORT or [ADDRESS]:PORT");
        address.map(Self).ok_or_else(refuse)
    }
}

/// The address of the metrics; `0` means none, as in controllers made with controller-runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsAddress {
    /// No metrics.
    Off,
    /// This address.
    At(BindAddress),
}

impl FromStr for MetricsAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "0" => Ok(Self::Off),
            "" => Self::from_str(":8080"),
            text => text.parse().map(Self::At),
        }
    }
}

/// The form of images' URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Compatibility {
    /// A token and a file name that BMCs accept: `/i/<token>/boot.iso`
    #[default]
    Default,
    /// As in image-customization-controller: `/<uuid>`
    Strict,
}

/// The namespaces that dayone serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Namespaces {
    /// All of them.
    All,
    /// One of them.
    One(String),
}

impl FromStr for Namespaces {
    type Err = String;

    /// Deployments set variables that they do not use to nothing.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::All),
            name if is_label(name) => Ok(Self::One(name.to_owned())),
            _ => Err(format!(
                "{text:?} is not the name of a namespace. Give one name, of lower-case letters, digits and inner hyphens; \
                 without a name, dayone serves all namespaces"
            )),
        }
    }
}

/// Whether a text is a label of RFC 1123 in lower case, as Kubernetes requires it of namespaces.
fn is_label(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(good) && !text.starts_with('-') && !text.ends_with('-')
}

/// The name of a Secret, with its namespace if that is not dayone's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretName {
    /// The namespace, if the user gives one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl FromStr for SecretName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, text),
        };
        let plain = |part: &str| !part.is_empty() && part.len() <= 253 && !part.contains(['/', ' ']);
        if plain(name) && namespace.as_deref().is_none_or(is_label) {
            Ok(Self { namespace, name: name.to_owned() })
        } else {
            Err(format!("{text:?} is not the name of a Secret; write NAME or NAMESPACE/NAME"))
        }
    }
}

/// Parses a path, which may be empty: deployments set flags that they do not use to nothing.
fn path() -> impl clap::builder::TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// How to serve images; the same for both programs.
#[derive(Debug, Args)]
pub struct ImagesArguments {
    /// Address on which dayone serves images
    #[arg(long, env = "DAYONE_IMAGES_BIND_ADDR", value_name = "ADDRESS", default_value = ":8084")]
    pub images_bind_addr: BindAddress,

    /// URL under which BMCs or Ironic reach that address
    #[arg(long, env = "DAYONE_IMAGES_PUBLISH_ADDR", value_name = "URL", default_value = "http://127.0.0.1:8084")]
    pub images_publish_addr: MediaUrl,

    /// Certificate chain (PEM) of that address; dayone reads it again when it changes [default: plain HTTP]
    #[arg(long, env = "DAYONE_IMAGES_TLS_CERT_FILE", value_name = "FILE", value_parser = path())]
    pub images_tls_cert_file: Option<PathBuf>,

    /// Private key (PEM) of that address
    #[arg(long, env = "DAYONE_IMAGES_TLS_KEY_FILE", value_name = "FILE", value_parser = path())]
    pub images_tls_key_file: Option<PathBuf>,

    /// How many connections one client address may have open at once [default: half of all]
    #[arg(long, env = "DAYONE_IMAGES_CONNECTIONS_PER_ADDRESS", value_name = "NUMBER")]
    pub images_connections_per_address: Option<NonZeroU32>,

    /// Directory for the digests of bases, so that dayone does not read the bases again after a restart
    #[arg(long, env = "DAYONE_CACHE_DIR", value_name = "DIR", value_parser = path())]
    pub cache_dir: Option<PathBuf>,

    /// Private key (PEM, RSA) of the site, which signs the addons for unified kernel images [default: addons are not signed]
    #[arg(long, env = "DAYONE_SITE_KEY", value_name = "FILE", value_parser = path())]
    pub site_key: Option<PathBuf>,

    /// Certificate (PEM) of that key, which the `db` of the machines with Secure Boot must have
    #[arg(long, env = "DAYONE_SITE_CERTIFICATE", value_name = "FILE", value_parser = path())]
    pub site_certificate: Option<PathBuf>,

    /// File of the audit log: which object got which image, and who read which bytes of it; `-` for the standard output [default: no
    /// audit log]
    #[arg(long, env = "DAYONE_AUDIT_LOG", value_name = "FILE", value_parser = path())]
    pub audit_log: Option<PathBuf>,

    /// Size of the file from which on dayone renames it and begins a new one, in MiB [default: it never does]
    #[arg(long, env = "DAYONE_AUDIT_LOG_MAX_MIB", value_name = "MIB")]
    pub audit_log_max_mib: Option<NonZeroU64>,

    /// How long running transfers may take to finish when the server stops, in seconds
    #[arg(long, env = "DAYONE_DRAIN_SECONDS", value_name = "SECONDS", default_value_t = 60)]
    pub drain_seconds: u64,

    /// Format of the log
    #[arg(long, env = "DAYONE_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,

    /// Level of the log: error, warn, info, debug, trace, or a filter such as `info,media=debug`
    #[arg(long, env = "DAYONE_LOG", value_name = "FILTER", default_value = "info")]
    pub log: String,
}

/// The arguments of `dayone controller`.
#[derive(Debug, Args)]
#[command(after_help = CONTROLLER_EXAMPLES, after_long_help = format!("{SETTINGS}\n\n{CONTROLLER_EXAMPLES}"))]
pub struct ControllerArguments {
    /// File with settings (YAML, with the options' names as keys); the environment and the command line override it [default: none]
    #[arg(long, env = "DAYONE_CONFIG", value_name = "FILE", value_parser = path())]
    pub config: Option<PathBuf>,

    /// Namespace whose PreprovisioningImages and DataImages dayone serves [default: all]
    #[arg(long, env = "WATCH_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<Namespaces>,

    /// Address of /metrics, /healthz and /readyz; 0 for none
    #[arg(long, env = "DAYONE_METRICS_ADDR", value_name = "ADDRESS", default_value = ":8080")]
    pub metrics_addr: MetricsAddress,

    /// Kubeconfig file, if dayone does not run in the cluster
    #[arg(long, env = "KUBECONFIG", value_name = "FILE", value_parser = path())]
    pub kubeconfig: Option<PathBuf>,

    /// Secret with the installation key, from which dayone derives all images' URLs; dayone creates it if it is missing
    #[arg(long, env = "DAYONE_KEY_SECRET", value_name = "[NAMESPACE/]NAME", default_value = "dayone-key")]
    pub key_secret: SecretName,

    /// Lease by which the replicas elect the one that writes
    #[arg(long, env = "DAYONE_LEASE", value_name = "NAME", default_value = "dayone")]
    pub lease: String,

    /// Form of images' URLs
    #[arg(long, env = "DAYONE_COMPATIBILITY", value_name = "FORM", default_value = "default")]
    pub compatibility: Compatibility,

    /// How many objects dayone works on at a time
    #[arg(long, env = "DAYONE_CONCURRENCY", value_name = "NUMBER", default_value_t = 8,
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrency: u16,

    /// How long to keep serving after reporting not ready, in seconds
    #[arg(long, env = "DAYONE_SHUTDOWN_DELAY_SECONDS", value_name = "SECONDS", default_value_t = 5)]
    pub shutdown_delay_seconds: u64,

    /// How to serve images.
    #[command(flatten)]
    pub images: ImagesArguments,

    /// What the images contain.
    #[command(flatten)]
    pub contents: ContentsArguments,

    /// The command line, to be read again on SIGHUP.
    #[arg(skip)]
    pub line: CommandLine,

    /// Whether the environment must have all variables that image-customization-controller requires.
    #[arg(skip)]
    pub strict_environment: bool,
}

/// The arguments of `dayone static-server`.
#[derive(Debug, Args)]
#[command(after_help = STATIC_EXAMPLES, after_long_help = format!("{SETTINGS}\n\n{STATIC_EXAMPLES}"))]
pub struct StaticServerArguments {
    /// File with settings (YAML, with the options' names as keys); the environment and the command line override it [default: none]
    #[arg(long, env = "DAYONE_CONFIG", value_name = "FILE", value_parser = path())]
    pub config: Option<PathBuf>,

    /// Directory with one NMState document a host: dayone makes worker-0.iso and worker-0.initramfs from worker-0.yaml
    #[arg(long, env = "DAYONE_NMSTATE_DIR", value_name = "DIR", value_parser = path())]
    pub nmstate_dir: Option<PathBuf>,

    /// How to serve images.
    #[command(flatten)]
    pub images: ImagesArguments,

    /// What the images contain.
    #[command(flatten)]
    pub contents: ContentsArguments,

    /// The command line, to be read again on SIGHUP.
    #[arg(skip)]
    pub line: CommandLine,

    /// Whether the environment must have all variables that image-customization-server requires.
    #[arg(skip)]
    pub strict_environment: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_in_go() {
        let at = |text: &str| text.parse::<BindAddress>().map(|address| address.0.to_string());
        assert_eq!(at(":8084").as_deref(), Ok("[::]:8084"));
        assert_eq!(at("0.0.0.0:80").as_deref(), Ok("0.0.0.0:80"));
        assert_eq!(at("127.0.0.1:7373").as_deref(), Ok("127.0.0.1:7373"));
        assert_eq!(at("localhost:7373").as_deref(), Ok("127.0.0.1:7373"));
        assert_eq!(at("[::1]:1").as_deref(), Ok("[::1]:1"));
        for bad in ["", ":", ":x", "8084", ":99999", "host:1"] {
            assert!(at(bad).is_err(), "{bad}");
        }
        assert_eq!("0".parse(), Ok(MetricsAddress::Off));
        assert_eq!("".parse::<MetricsAddress>(), ":8080".parse());
    }

    #[test]
    fn a_secret_may_be_in_another_namespace() {
        let read = |text: &str| text.parse::<SecretName>().map(|secret| (secret.namespace, secret.name));
        assert_eq!(read("key"), Ok((None, "key".to_owned())));
        assert_eq!(read("here/key"), Ok((Some("here".to_owned()), "key".to_owned())));
        for bad in ["", "/key", "here/", "a/b/c", "here,there/key"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn dayone_serves_one_namespace_or_all() {
        assert_eq!("".parse(), Ok(Namespaces::All));
        for name in ["metal3", "a", "0-a", &"x".repeat(63)] {
            assert_eq!(name.parse(), Ok(Namespaces::One(name.to_owned())));
        }
        for bad in ["hosts,other", "hosts other", "Hosts", "-a", "a-", "a.b", "a/b", "*", &"x".repeat(64)] {
            let error = bad.parse::<Namespaces>().unwrap_err();
            assert!(error.contains(bad) && error.contains("one name"), "{error}");
        }
    }
}
