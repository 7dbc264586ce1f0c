//! The settings of `dayone serve`. The command line, the environment and the file share one type, so each setting has the
//! same name in all three.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Args;
use ipnet::IpNet;
use media::MediaUrl;
use serde::Deserialize;

use crate::bases::AllowedSource;
use crate::logging::LogFormat;
use crate::store::BaseDefinition;

/// Why a settings file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// dayone cannot read it.
    #[error("cannot read the settings file {}: {}", .0.display(), .1)]
    Read(PathBuf, std::io::Error),
    /// It is not YAML, or has an unknown or wrong setting.
    #[error("the settings file {} is wrong: {}", .0.display(), .1)]
    Yaml(PathBuf, serde_yaml::Error),
}

/// All settings of `dayone serve`. Each is optional here: a setting that the command line lacks may be in the file.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Settings {
    /// Directory for recipes and the installation's key [default: /var/lib/dayone]
    #[arg(long, env = "DAYONE_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Base image: NAME=PATH of an ISO, or `NAME=kernel:PATH,initrd:PATH[,rootfs:PATH][,esp:PATH][,bios-loader:PATH]`;
    /// repeatable
    #[arg(long = "base", env = "DAYONE_BASE", value_name = "NAME=PATH")]
    #[serde(rename = "bases")]
    pub base: Vec<BaseDefinition>,

    /// Beginning of the URLs, or directory on this machine, from which clients of the API may have bases fetched; repeatable
    /// [default: `https://builds.coreos.fedoraproject.org/`]
    #[arg(long, env = "DAYONE_BASE_SOURCE", value_name = "URL|DIR", value_delimiter = ',')]
    pub base_source: Vec<AllowedSource>,

    /// File with GPG keys that may sign bases, in place of Fedora's and Red Hat's; repeatable
    #[arg(long, env = "DAYONE_BASE_KEYS", value_name = "FILE")]
    pub base_keys: Vec<PathBuf>,

    /// Certificates (PEM) that verify the servers of bases [default: this system's certificate authorities]
    #[arg(long, env = "DAYONE_BASE_CA", value_name = "FILE")]
    pub base_ca: Option<PathBuf>,

    /// How large a fetched file of a base may be, in GiB [default: 16]
    #[arg(long, env = "DAYONE_BASE_MAX_GIB", value_name = "GIB")]
    pub base_max_gib: Option<NonZeroU64>,

    /// Address of the API; an address other than loopback requires a token [default: 127.0.0.1:8080]
    #[arg(long, env = "DAYONE_API_LISTEN", value_name = "ADDRESS")]
    pub api_listen: Option<SocketAddr>,

    /// File with the API's bearer tokens, one a line; repeatable. The variable `DAYONE_API_TOKEN` adds one
    #[arg(long, env = "DAYONE_API_TOKEN_FILE", value_name = "FILE")]
    pub api_token_file: Vec<PathBuf>,

    /// Certificate chain (PEM) of the API [default: plain HTTP]
    #[arg(long, env = "DAYONE_API_TLS_CERT", value_name = "FILE")]
    pub api_tls_cert: Option<PathBuf>,

    /// Private key (PEM) of the API
    #[arg(long, env = "DAYONE_API_TLS_KEY", value_name = "FILE")]
    pub api_tls_key: Option<PathBuf>,

    /// Address from which BMCs fetch images [default: [::]:8081, which accepts IPv4, too]
    #[arg(long, env = "DAYONE_MEDIA_LISTEN", value_name = "ADDRESS")]
    pub media_listen: Option<SocketAddr>,

    /// URL under which BMCs reach that address, such as `http://192.0.2.10:8081` [default: --media-listen, if it is a single
    /// address]
    #[arg(long, env = "DAYONE_MEDIA_URL", value_name = "URL")]
    #[serde(deserialize_with = "media_url")]
    pub media_url: Option<MediaUrl>,

    /// Certificate chain (PEM) of the images' address [default: plain HTTP]
    #[arg(long, env = "DAYONE_MEDIA_TLS_CERT", value_name = "FILE")]
    pub media_tls_cert: Option<PathBuf>,

    /// Private key (PEM) of the images' address
    #[arg(long, env = "DAYONE_MEDIA_TLS_KEY", value_name = "FILE")]
    pub media_tls_key: Option<PathBuf>,

    /// How long a BMC's connection may move no byte before dayone closes it, in seconds [default: 300]
    #[arg(long, env = "DAYONE_MEDIA_IDLE_SECONDS", value_name = "SECONDS")]
    pub media_idle_seconds: Option<u64>,

    /// How many connections one client address may have open to the images' address at once [default: half of all]
    #[arg(long, env = "DAYONE_MEDIA_CONNECTIONS_PER_ADDRESS", value_name = "NUMBER")]
    pub media_connections_per_address: Option<NonZeroU32>,

    /// Directory with credentials of BMCs that requests name: NAME/username and NAME/password, like mounted Secrets. For all
    /// other BMCs, dayone uses the variables `DAYONE_BMC_USERNAME` and `DAYONE_BMC_PASSWORD`
    #[arg(long, env = "DAYONE_BMC_CREDENTIALS", value_name = "DIR")]
    pub bmc_credentials: Option<PathBuf>,

    /// Network (CIDR) of the BMCs: dayone connects to no address outside; repeatable [default: any address]
    #[arg(long, env = "DAYONE_BMC_NETWORK", value_name = "CIDR", value_delimiter = ',')]
    #[serde(deserialize_with = "networks")]
    pub bmc_network: Vec<IpNet>,

    /// Certificates (PEM) that verify BMCs [default: this system's certificate authorities]
    #[arg(long, env = "DAYONE_BMC_CA", value_name = "FILE")]
    pub bmc_ca: Option<PathBuf>,

    /// How many boots run at a time; dayone queues the others [default: 32]
    #[arg(long, env = "DAYONE_BOOTS_AT_ONCE", value_name = "NUMBER")]
    pub boots_at_once: Option<NonZeroUsize>,

    /// How long running requests may take to finish when the server stops, in seconds [default: 20]
    #[arg(long, env = "DAYONE_DRAIN_SECONDS", value_name = "SECONDS")]
    pub drain_seconds: Option<u64>,

    /// Format of the log [default: text]
    #[arg(long, env = "DAYONE_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,

    /// Level of the log: error, warn, info, debug, trace, or a filter such as `info,media=debug` [default: info]
    #[arg(long, env = "DAYONE_LOG", value_name = "FILTER")]
    pub log: Option<String>,
}

impl Settings {
    /// Reads a settings file: YAML with the long names of the options as keys, except that `bases` is a list of
    /// `{name, iso}` or `{name, kernel, initrd, …}`. Relative paths are relative to the working directory.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = std::fs::read_to_string(path).map_err(|error| SettingsError::Read(path.to_owned(), error))?;
        let settings: Result<Option<Self>, _> = serde_yaml::from_str(&text);
        settings.map(Option::unwrap_or_default).map_err(|error| SettingsError::Yaml(path.to_owned(), error))
    }

    /// Returns these settings, and for missing ones those of `file`. The bases of both are joined; of two bases with the same
    /// name, the one of `self` wins.
    #[must_use]
    pub fn or(self, file: Self) -> Self {
        let mut base = self.base;
        for definition in file.base {
            if base.iter().all(|ours| ours.name != definition.name) {
                base.push(definition);
            }
        }
        macro_rules! settings {
            ($($setting:ident),*) => { Self {
                base,
                base_source: if self.base_source.is_empty() { file.base_source } else { self.base_source },
                base_keys: if self.base_keys.is_empty() { file.base_keys } else { self.base_keys },
                api_token_file: if self.api_token_file.is_empty() { file.api_token_file } else { self.api_token_file },
                bmc_network: if self.bmc_network.is_empty() { file.bmc_network } else { self.bmc_network },
                $($setting: self.$setting.or(file.$setting),)*
            } };
        }
        settings!(
            data_dir,
            base_ca,
            base_max_gib,
            api_listen,
            api_tls_cert,
            api_tls_key,
            media_listen,
            media_url,
            media_tls_cert,
            media_tls_key,
            media_idle_seconds,
            media_connections_per_address,
            bmc_credentials,
            bmc_ca,
            boots_at_once,
            drain_seconds,
            log_format,
            log
        )
    }
}

fn networks<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts: Vec<String> = Deserialize::deserialize(deserializer)?;
    texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
}

fn media_url<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<MediaUrl>, D::Error> {
    let text: Option<String> = Deserialize::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}
