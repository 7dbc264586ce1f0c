//! Everything that a server is started with.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use crate::api::tokens::{ApiTokens, TokenError};
use crate::arguments::Settings;
use crate::boots::BootSettings;
use crate::store::BaseDefinition;
use media::MediaUrl;
use media::listen::{Tls, TlsError};
use redfish::{Certificates, CertificatesError, ClientOptions, Verification};

/// Where the data are, if nothing is said.
const DATA_DIR: &str = "/var/lib/dayone";
/// Where the API listens, if nothing is said.
const API_PORT: u16 = 8080;

/// Why settings make no server.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A token that cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// TLS files that cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// BMCs' certificate authorities that cannot be used.
    #[error("--bmc-ca {}: {source}", path.display())]
    BmcCa {
        /// The file.
        path: PathBuf,
        /// Why.
        source: CertificatesError,
    },
    /// No directory where credentials of BMCs should be.
    #[error("--bmc-credentials {} is no directory; it holds a directory with the files username and password for each name", .0.display())]
    BmcCredentials(PathBuf),
    /// A certificate without its key, or a key without its certificate.
    #[error("--{plane}-tls-cert and --{plane}-tls-key go together: give both, or neither")]
    HalfTls {
        /// `api` or `media`.
        plane: &'static str,
    },
    /// An API that anybody could use.
    #[error(
        "the API would listen on {0}, where other machines reach it, without a token: add --api-token-file FILE with a \
         token (openssl rand -hex 32), or listen on loopback (--api-listen 127.0.0.1:{port})", port = .0.port()
    )]
    OpenApi(SocketAddr),
    /// An address that says nothing about how BMCs reach the server.
    #[error(
        "say under which address BMCs reach this machine: --media-url http://ADDRESS:{0} (an IP address on the BMCs' \
         network)"
    )]
    NoMediaUrl(u16),
}

/// Everything that a server is started with.
#[derive(Debug)]
pub struct Config {
    /// Directory of the recipes and of the installation's key.
    pub data_dir: PathBuf,
    /// What images are made over.
    pub bases: Vec<BaseDefinition>,
    /// Where the API listens.
    pub api_listen: SocketAddr,
    /// What opens the API. None: whoever reaches it, which must be loopback only.
    pub api_tokens: ApiTokens,
    /// Without it, the API speaks plain HTTP.
    pub api_tls: Option<Tls>,
    /// Where BMCs fetch images. None: port 8081 of all addresses.
    pub media_listen: Option<SocketAddr>,
    /// What BMCs have to call that. None: the address that is listened on.
    pub media_url: Option<MediaUrl>,
    /// Without it, images are served by plain HTTP.
    pub media_tls: Option<Tls>,
    /// After how long a BMC's connection that moves no byte is closed.
    pub media_idle: Duration,
    /// How many connections one address may have open to the images at once. None: half of all.
    pub media_per_address: Option<u32>,
    /// How hosts are booted.
    pub boots: BootSettings,
    /// How long running requests may take once the server stops.
    pub drain: Duration,
    /// How often bases are looked at.
    pub recheck: Duration,
}

impl Config {
    /// What `settings` say, and what is usual where they say nothing. `token` is one more token of the API, from the
    /// variable `DAYONE_API_TOKEN`: on a command line others could read it.
    pub fn new(settings: Settings, token: Option<&str>) -> Result<Self, ConfigError> {
        let mut api_tokens = ApiTokens::default();
        for path in &settings.api_token_file {
            api_tokens.add_file(path)?;
        }
        if let Some(token) = token {
            api_tokens.add(token, "the variable DAYONE_API_TOKEN")?;
        }
        let boots = boots(&settings)?;
        let config = Self {
            boots,
            data_dir: settings.data_dir.unwrap_or_else(|| DATA_DIR.into()),
            bases: settings.base,
            api_listen: settings.api_listen.unwrap_or_else(|| ([127, 0, 0, 1], API_PORT).into()),
            api_tokens,
            api_tls: tls("api", settings.api_tls_cert, settings.api_tls_key)?,
            media_listen: settings.media_listen,
            media_url: settings.media_url,
            media_tls: tls("media", settings.media_tls_cert, settings.media_tls_key)?,
            media_idle: Duration::from_secs(settings.media_idle_seconds.unwrap_or(300)),
            media_per_address: settings.media_connections_per_address.map(NonZeroU32::get),
            drain: Duration::from_secs(settings.drain_seconds.unwrap_or(20)),
            recheck: Duration::from_secs(5),
        };
        config.check()?;
        Ok(config)
    }

    /// Whether it can be started with, as far as can be said before.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.api_tokens.is_empty() && !is_loopback(self.api_listen.ip()) {
            return Err(ConfigError::OpenApi(self.api_listen));
        }
        match self.media_listen {
            _ if self.media_url.is_some() => Ok(()),
            Some(listen) if !listen.ip().to_canonical().is_unspecified() => Ok(()),
            listen => Err(ConfigError::NoMediaUrl(listen.map_or(super::MEDIA_PORT, |listen| listen.port()))),
        }
    }

    /// What is allowed and yet likely wrong.
    pub(super) fn warnings(&self, media_url: &MediaUrl) -> Vec<String> {
        let mut warnings = media_url.warnings();
        if !is_loopback(self.api_listen.ip()) && self.api_tls.is_none() {
            warnings.push(
                "the API's tokens cross the network in the clear; add --api-tls-cert and --api-tls-key".to_owned(),
            );
        }
        if self.media_tls.is_some() && !media_url.is_https() {
            warnings.push("images are served by TLS, and the media URL begins with http://".to_owned());
        }
        if self.bases.is_empty() {
            warnings.push("there are no bases: no image can be made; add --base NAME=PATH".to_owned());
        }
        warnings
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn boots(settings: &Settings) -> Result<BootSettings, ConfigError> {
    let verification = match &settings.bmc_ca {
        None => Verification::System,
        Some(path) => {
            let read = Certificates::from_file(path);
            Verification::CaFile(read.map_err(|source| ConfigError::BmcCa { path: path.clone(), source })?)
        }
    };
    if let Some(path) = settings.bmc_credentials.as_ref().filter(|path| !path.is_dir()) {
        return Err(ConfigError::BmcCredentials(path.clone()));
    }
    let usual = BootSettings::default();
    Ok(BootSettings {
        credentials: settings.bmc_credentials.clone(),
        at_once: settings.boots_at_once.map_or(usual.at_once, std::num::NonZeroUsize::get),
        client: ClientOptions { networks: settings.bmc_network.iter().copied().collect(), ..usual.client },
        verification,
        ..usual
    })
}

fn tls(plane: &'static str, certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<Tls>, ConfigError> {
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(Tls::from_files(&certificate, &key)?)),
        (Some(_), None) | (None, Some(_)) => Err(ConfigError::HalfTls { plane }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: Settings) -> Result<Config, String> {
        Config::new(settings, None).map_err(|error| error.to_string())
    }

    #[test]
    fn an_open_api_stays_on_this_machine() {
        let listen = |address: &str| Settings {
            api_listen: Some(address.parse().unwrap()),
            media_url: Some("http://192.0.2.1:8081".parse().unwrap()),
            ..Settings::default()
        };
        for address in ["127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(config(listen(address)).is_ok(), "{address}");
        }
        for address in ["0.0.0.0:7", "[::]:7", "192.0.2.1:7", "[::ffff:192.0.2.1]:7"] {
            let error = config(listen(address)).unwrap_err();
            assert!(error.contains("--api-token-file") && error.contains("127.0.0.1:7"), "{error}");
            assert!(Config::new(listen(address), Some("0123456789abcdef")).is_ok());
        }
    }

    #[test]
    fn the_media_url_is_said_or_follows_from_the_address() {
        let listen = |address: &str| Settings { media_listen: Some(address.parse().unwrap()), ..Settings::default() };
        assert!(config(listen("192.0.2.1:80")).is_ok());
        assert!(config(listen("0.0.0.0:80")).unwrap_err().contains("--media-url http://ADDRESS:80"));
        assert!(config(Settings::default()).unwrap_err().contains("--media-url http://ADDRESS:8081"));
    }

    #[test]
    fn a_certificate_has_a_key() {
        let settings = Settings { api_tls_cert: Some("cert.pem".into()), ..Settings::default() };
        assert!(config(settings).unwrap_err().contains("--api-tls-cert and --api-tls-key"));
    }
}
