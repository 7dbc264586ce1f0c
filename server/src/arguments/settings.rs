//! The settings of `dayone serve`. One type for the command line, the environment and the file, so that what can
//! be said in one can be said in the others, under the same name.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Args;
use ipnet::IpNet;
use media::MediaUrl;
use serde::Deserialize;

use crate::logging::LogFormat;
use crate::store::BaseDefinition;

/// Why a settings file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It cannot be read.
    #[error("cannot read the settings file {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is not YAML, or says something that dayone does not know.
    #[error("the settings file {} is wrong: {error}", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which line.
        error: serde_yaml::Error,
    },
}

/// Everything that `dayone serve` can be told. Nothing is mandatory here: what is missing on the command line may
/// stand in the file.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Settings {
    /// Directory of the recipes and of the installation's key [default: /var/lib/dayone]
    #[arg(long, env = "DAYONE_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Base image: NAME=PATH of an ISO, or `NAME=kernel:PATH,initrd:PATH[,rootfs:PATH][,esp:PATH][,bios-loader:PATH]`;
    /// repeatable
    #[arg(long = "base", env = "DAYONE_BASE", value_name = "NAME=PATH")]
    #[serde(rename = "bases")]
    pub base: Vec<BaseDefinition>,

    /// Address of the API; beyond loopback it needs a token [default: 127.0.0.1:8080]
    #[arg(long, env = "DAYONE_API_LISTEN", value_name = "ADDRESS")]
    pub api_listen: Option<SocketAddr>,

    /// File with the API's bearer tokens, one a line; repeatable. The variable `DAYONE_API_TOKEN` adds one
    #[arg(long, env = "DAYONE_API_TOKEN_FILE", value_name = "FILE")]
    pub api_token_file: Vec<PathBuf>,

    /// Certificate chain (PEM) of the API; without it the API speaks plain HTTP
    #[arg(long, env = "DAYONE_API_TLS_CERT", value_name = "FILE")]
    pub api_tls_cert: Option<PathBuf>,

    /// Private key (PEM) of the API
    #[arg(long, env = "DAYONE_API_TLS_KEY", value_name = "FILE")]
    pub api_tls_key: Option<PathBuf>,

    /// Address that BMCs fetch images from [default: [::]:8081, which takes IPv4 too]
    #[arg(long, env = "DAYONE_MEDIA_LISTEN", value_name = "ADDRESS")]
    pub media_listen: Option<SocketAddr>,

    /// What BMCs have to call that address, such as `http://192.0.2.10:8081` [default: --media-listen, if it is one
    /// address]
    #[arg(long, env = "DAYONE_MEDIA_URL", value_name = "URL")]
    #[serde(deserialize_with = "media_url")]
    pub media_url: Option<MediaUrl>,

    /// Certificate chain (PEM) of the images' address; without it BMCs use plain HTTP
    #[arg(long, env = "DAYONE_MEDIA_TLS_CERT", value_name = "FILE")]
    pub media_tls_cert: Option<PathBuf>,

    /// Private key (PEM) of the images' address
    #[arg(long, env = "DAYONE_MEDIA_TLS_KEY", value_name = "FILE")]
    pub media_tls_key: Option<PathBuf>,

    /// Seconds after which a BMC's connection that moves no byte is closed [default: 300]
    #[arg(long, env = "DAYONE_MEDIA_IDLE_SECONDS", value_name = "SECONDS")]
    pub media_idle_seconds: Option<u64>,

    /// Connections that one client address may have open to the images at once [default: half of all]
    #[arg(long, env = "DAYONE_MEDIA_CONNECTIONS_PER_ADDRESS", value_name = "NUMBER")]
    pub media_connections_per_address: Option<NonZeroU32>,

    /// Directory of BMCs' credentials, which requests name: NAME/username and NAME/password, as Secrets are mounted.
    /// The variables `DAYONE_BMC_USERNAME` and `DAYONE_BMC_PASSWORD` are for BMCs of which nothing else is said
    #[arg(long, env = "DAYONE_BMC_CREDENTIALS", value_name = "DIR")]
    pub bmc_credentials: Option<PathBuf>,

    /// Network (CIDR) that BMCs are in; repeatable; without it dayone connects to whatever address a request gives
    #[arg(long, env = "DAYONE_BMC_NETWORK", value_name = "CIDR", value_delimiter = ',')]
    #[serde(deserialize_with = "networks")]
    pub bmc_network: Vec<IpNet>,

    /// Certificates (PEM) that BMCs are trusted by [default: those that this system trusts]
    #[arg(long, env = "DAYONE_BMC_CA", value_name = "FILE")]
    pub bmc_ca: Option<PathBuf>,

    /// Boots that are under way at a time; the others are queued [default: 32]
    #[arg(long, env = "DAYONE_BOOTS_AT_ONCE", value_name = "NUMBER")]
    pub boots_at_once: Option<NonZeroUsize>,

    /// Seconds that running requests get to finish when dayone is told to stop [default: 20]
    #[arg(long, env = "DAYONE_DRAIN_SECONDS", value_name = "SECONDS")]
    pub drain_seconds: Option<u64>,

    /// Form of the log [default: text]
    #[arg(long, env = "DAYONE_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,

    /// What is logged: error, warn, info, debug, trace, or a filter such as `info,dayone::media=debug` [default: info]
    #[arg(long, env = "DAYONE_LOG", value_name = "FILTER")]
    pub log: Option<String>,
}

impl Settings {
    /// Reads a settings file: YAML with the long names of the options as keys, except that `bases` is a list of
    /// `{name, iso}` or `{name, kernel, initrd, …}`. Relative paths are relative to the working directory.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let path = path.to_owned();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return Err(SettingsError::Read { path, error }),
        };
        let parsed: Result<Option<Self>, _> = serde_yaml::from_str(&text);
        match parsed {
            Ok(settings) => Ok(settings.unwrap_or_default()),
            Err(error) => Err(SettingsError::Yaml { path, error }),
        }
    }

    /// These settings, and where they say nothing, those of `file`. Bases add up; of two with one name, this one counts.
    #[must_use]
    pub fn or(self, file: Self) -> Self {
        let mut base = self.base;
        for definition in file.base {
            if base.iter().all(|ours| ours.name != definition.name) {
                base.push(definition);
            }
        }
        Self {
            data_dir: self.data_dir.or(file.data_dir),
            base,
            api_listen: self.api_listen.or(file.api_listen),
            api_token_file: if self.api_token_file.is_empty() { file.api_token_file } else { self.api_token_file },
            api_tls_cert: self.api_tls_cert.or(file.api_tls_cert),
            api_tls_key: self.api_tls_key.or(file.api_tls_key),
            media_listen: self.media_listen.or(file.media_listen),
            media_url: self.media_url.or(file.media_url),
            media_tls_cert: self.media_tls_cert.or(file.media_tls_cert),
            media_tls_key: self.media_tls_key.or(file.media_tls_key),
            media_idle_seconds: self.media_idle_seconds.or(file.media_idle_seconds),
            media_connections_per_address: self.media_connections_per_address.or(file.media_connections_per_address),
            bmc_credentials: self.bmc_credentials.or(file.bmc_credentials),
            bmc_network: if self.bmc_network.is_empty() { file.bmc_network } else { self.bmc_network },
            bmc_ca: self.bmc_ca.or(file.bmc_ca),
            boots_at_once: self.boots_at_once.or(file.boots_at_once),
            drain_seconds: self.drain_seconds.or(file.drain_seconds),
            log_format: self.log_format.or(file.log_format),
            log: self.log.or(file.log),
        }
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
