//! The configuration of a server.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::api::access::Transport;
use crate::api::clients::{ApiClients, ClientFileError, TokenError, TokenFileError};
use crate::arguments::{IdleSeconds, Settings};
use crate::audit::AuditSettings;
use crate::bases::{AllowedSources, FetchSettings, Keyring, KeyringError};
use crate::boots::{BootSettings, credentials_directory};
use crate::open_files;
use crate::site_key::{SiteKeyError, SiteKeyPair};
use crate::store::{BaseDefinition, DataKeys, DataKeysError};
use media::listen::{Tls, TlsError};
use media::{MediaUrl, MediaUrlError};
use redfish::{Certificates, CertificatesError, ClientOptions, Verification};

/// The default data directory.
pub(crate) const DATA_DIR: &str = "/var/lib/dayone";
/// The default port of the API.
const API_PORT: u16 = 8080;
/// The default address of the media plane, which includes IPv4.
pub(super) const EVERYWHERE: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), super::MEDIA_PORT);

/// Why settings are not valid for a server.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A token is not valid.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A file with tokens is not valid.
    #[error(transparent)]
    TokenFile(#[from] TokenFileError),
    /// The file with the API's clients is not valid.
    #[error("--api-clients {0}")]
    Clients(#[from] ClientFileError),
    /// TLS files are not valid.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The file with the BMCs' certificate authorities is not valid.
    #[error("--bmc-ca {}: {source}", path.display())]
    BmcCa {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: CertificatesError,
    },
    /// The file with the certificate authorities of bases' servers is not valid.
    #[error("--base-ca {}: {source}", path.display())]
    BaseCa {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: CertificatesError,
    },
    /// A file with keys is not valid.
    #[error("--base-keys {}: {source}", path.display())]
    BaseKeys {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: KeyringError,
    },
    /// The path for the BMCs' credentials is not a directory.
    #[error(
        "--bmc-credentials {} is not a directory; it must hold, for each name, a directory with the files username and password",
        .0.display()
    )]
    BmcCredentials(PathBuf),
    /// The file with the keys of the data directory is not valid.
    #[error("--data-key-file {0}")]
    DataKeys(#[from] DataKeysError),
    /// The key of the site, or its certificate, cannot be used.
    #[error(transparent)]
    SiteKey(#[from] SiteKeyError),
    /// Only one of the certificate and its key is given.
    #[error("--{plane}-tls-cert and --{plane}-tls-key go together: give both, or neither")]
    HalfTls {
        /// `api` or `media`.
        plane: &'static str,
    },
    /// Clients cannot show certificates without TLS.
    #[error("--api-client-ca needs TLS: add --api-tls-cert and --api-tls-key")]
    ClientCaWithoutTls,
    /// A client could never show its certificate.
    #[error("--api-clients: a client is known by its certificate, but clients need none: add --api-client-ca")]
    CertificateWithoutCa,
    /// Anyone could use the API.
    #[error(
        "the API would listen on {0}, where other machines reach it, without a token: add --api-token-file FILE with a \
         token (openssl rand -hex 32), or listen on loopback (--api-listen 127.0.0.1:{port})", port = .0.port()
    )]
    OpenApi(SocketAddr),
    /// Neither the media URL nor an address that BMCs can reach is given.
    #[error(
        "BMCs need the address under which they reach this machine: add --media-url http://ADDRESS:{0} (an IP address on \
         the BMCs' network)"
    )]
    NoMediaUrl(u16),
    /// The address to listen on cannot be in a URL.
    #[error("--media-listen gives no URL for BMCs: {0}")]
    MediaUrl(MediaUrlError),
    /// Both planes would use one port.
    #[error(
        "--api-listen {api} and --media-listen {media} would use the same port of the same address: give one of them another \
         port"
    )]
    SameAddress {
        /// The address of the API.
        api: SocketAddr,
        /// The address of the media plane.
        media: SocketAddr,
    },
}

impl ConfigError {
    /// The setting that the error is about.
    pub(crate) fn setting(&self) -> &'static str {
        match self {
            Self::Token(_) | Self::TokenFile(_) => "api-token-file",
            Self::Clients(_) => "api-clients",
            Self::Tls(_) | Self::HalfTls { plane: "media" } => "media-tls-cert",
            Self::HalfTls { .. } => "api-tls-cert",
            Self::DataKeys(_) => "data-key-file",
            Self::SiteKey(_) => "site-key",
            Self::BmcCa { .. } => "bmc-ca",
            Self::BaseCa { .. } => "base-ca",
            Self::BaseKeys { .. } => "base-keys",
            Self::BmcCredentials(_) => "bmc-credentials",
            Self::ClientCaWithoutTls | Self::CertificateWithoutCa => "api-client-ca",
            Self::OpenApi(_) => "api-listen",
            Self::NoMediaUrl(_) | Self::MediaUrl(_) => "media-url",
            Self::SameAddress { .. } => "media-listen",
        }
    }

    /// A stable name.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::TokenFile(_) => "token-file",
            Self::Clients(_) => "client-file",
            Self::Tls(_) => "tls-unusable",
            Self::HalfTls { .. } => "half-tls",
            Self::DataKeys(_) => "data-key-file",
            Self::SiteKey(_) => "site-key",
            Self::BmcCa { .. } => "bmc-ca",
            Self::BaseCa { .. } => "base-ca",
            Self::BaseKeys { .. } => "base-keys",
            Self::BmcCredentials(_) => "bmc-credentials",
            Self::ClientCaWithoutTls | Self::CertificateWithoutCa => "client-ca",
            Self::OpenApi(_) => "open-api",
            Self::NoMediaUrl(_) | Self::MediaUrl(_) => "no-media-url",
            Self::SameAddress { .. } => "same-address",
        }
    }
}

/// The configuration of a server.
#[derive(Debug)]
pub struct Config {
    /// The data directory: records of images and boots, and the installation key.
    pub data_dir: PathBuf,
    /// The keys that encrypt the data directory.
    pub data_keys: DataKeys,
    /// The bases.
    pub bases: Vec<BaseDefinition>,
    /// The key that signs the addons of images.
    pub site_key: Option<Arc<SiteKeyPair>>,
    /// The settings for bases that clients of the API add.
    pub fetches: FetchSettings,
    /// The address of the API.
    pub api_listen: SocketAddr,
    /// The clients of the API, each with its role. Without one and without client certificates, the API must listen on loopback, and anyone on this machine may use it.
    pub api_clients: ApiClients,
    /// How many requests each client address may send to the API per second. `None`: any number.
    pub api_requests_per_second: Option<NonZeroU32>,
    /// The audit log. `None`: there is none.
    pub audit: Option<AuditSettings>,
    /// Without it, the API speaks plain HTTP.
    pub api_tls: Option<Tls>,
    /// The address of the media plane. `None`: port 8081 of all addresses.
    pub media_listen: Option<SocketAddr>,
    /// The URL under which BMCs reach the media plane. `None`: its address.
    pub media_url: Option<MediaUrl>,
    /// Without it, the media plane speaks plain HTTP.
    pub media_tls: Option<Tls>,
    /// After how long without a byte the server closes a BMC's connection.
    pub media_idle: Duration,
    /// How many connections one client address may have open to the media plane at once. `None`: half of all.
    pub media_per_address: Option<u32>,
    /// Whether the kernel sends bases that the server copied by itself.
    pub media_sendfile: bool,
    /// The settings for boots.
    pub boots: BootSettings,
    /// How long running requests may take to finish when the server stops.
    pub drain: Duration,
    /// How often the server checks the bases.
    pub recheck: Duration,
}

impl Config {
    /// Makes a configuration from `settings`, with defaults for what they leave out. `token` is one more token for the API,
    /// from the variable `DAYONE_API_TOKEN`: others can read a command line.
    pub fn new(settings: Settings, token: Option<&str>) -> Result<Self, ConfigError> {
        let mut api_clients = ApiClients::default();
        // First, so that a client whose token is also elsewhere keeps its name.
        if let Some(path) = &settings.api_clients {
            api_clients.add_client_file(path)?;
        }
        for path in &settings.api_token_file {
            api_clients.add_token_file(path)?;
        }
        if let Some(token) = token {
            api_clients.add(token, "the variable DAYONE_API_TOKEN")?;
        }
        let boots = boots(&settings)?;
        let fetches = fetches(&settings)?;
        let max_bytes = settings.audit_log_max_mib.map(|mebibytes| mebibytes.get().saturating_mul(1 << 20));
        let audit = settings.audit_log.clone().map(|path| AuditSettings { target: path.into(), max_bytes });
        let data_keys = settings.data_key_file.as_deref().map(DataKeys::from_file).transpose()?.unwrap_or_default();
        let site_key = SiteKeyPair::from_options(settings.site_key.as_deref(), settings.site_certificate.as_deref())?;
        let config = Self {
            boots,
            data_keys,
            site_key: site_key.map(Arc::new),
            data_dir: settings.data_dir.unwrap_or_else(|| DATA_DIR.into()),
            bases: settings.base,
            fetches,
            api_listen: settings.api_listen.unwrap_or_else(|| ([127, 0, 0, 1], API_PORT).into()),
            api_clients,
            api_requests_per_second: settings.api_requests_per_second,
            audit,
            api_tls: tls("api", settings.api_tls_cert, settings.api_tls_key, settings.api_client_ca)?,
            media_listen: settings.media_listen,
            media_url: settings.media_url,
            media_tls: tls("media", settings.media_tls_cert, settings.media_tls_key, None)?,
            media_idle: settings.media_idle_seconds.map_or(Duration::from_mins(5), IdleSeconds::duration),
            media_sendfile: settings.media_sendfile.unwrap_or(true),
            media_per_address: settings.media_connections_per_address.map(NonZeroU32::get),
            drain: Duration::from_secs(settings.drain_seconds.unwrap_or(20)),
            recheck: Duration::from_secs(5),
        };
        config.check()?;
        Ok(config)
    }

    /// Checks what can be checked before the start.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let has_certificates = Transport::of(self.api_tls.as_ref()) == Transport::MutualTls;
        if self.api_clients.has_certificates() && !has_certificates {
            return Err(ConfigError::CertificateWithoutCa);
        }
        if self.api_clients.is_empty() && !has_certificates && !is_loopback(self.api_listen.ip()) {
            return Err(ConfigError::OpenApi(self.api_listen));
        }
        let (api, media) = (self.api_listen, self.media_listen.unwrap_or(EVERYWHERE));
        if overlap(api, media) {
            return Err(ConfigError::SameAddress { api, media });
        }
        match self.media_listen {
            _ if self.media_url.is_some() => Ok(()),
            Some(listen) if !listen.ip().to_canonical().is_unspecified() => {
                MediaUrl::of_listener(listen, self.media_tls.is_some()).map(drop).map_err(ConfigError::MediaUrl)
            }
            listen => Err(ConfigError::NoMediaUrl(listen.map_or(super::MEDIA_PORT, |listen| listen.port()))),
        }
    }

    /// How many files the bases have.
    pub(super) fn base_files(&self) -> usize {
        files_of(&self.bases)
    }

    /// A warning if boots leave few of these open files to BMCs.
    pub(crate) fn too_many_boots(&self, limit: Option<u64>) -> Option<String> {
        open_files::too_many_boots(limit, super::API_CONNECTIONS, self.base_files(), self.boots.at_once)
    }

    /// Warnings about settings that are allowed, but likely wrong, each with the name of its setting.
    pub(crate) fn warnings(&self, media_url: &MediaUrl) -> Vec<(&'static str, String)> {
        let mut warnings: Vec<_> = media_url.warnings().into_iter().map(|warning| ("media-url", warning)).collect();
        if !is_loopback(self.api_listen.ip()) && self.api_tls.is_none() {
            let warning = "the API's tokens cross the network unencrypted; add --api-tls-cert and --api-tls-key";
            warnings.push(("api-tls-cert", warning.to_owned()));
        }
        if self.media_tls.is_some() && !media_url.is_https() {
            let warning = "the media plane speaks TLS, but the media URL begins with http://";
            warnings.push(("media-url", warning.to_owned()));
        }
        if self.bases.is_empty() {
            let warning =
                "no bases are configured; add --base NAME=PATH, or add bases while the server runs (dayone base add)";
            warnings.push(("bases", warning.to_owned()));
        }
        warnings
    }
}

/// The limit on open files with which a server with these settings has all connections of BMCs.
pub(crate) fn open_files_needed(settings: &Settings) -> u64 {
    open_files::for_all_connections(super::API_CONNECTIONS, files_of(&settings.base), boots_at_once(settings))
}

fn files_of(bases: &[BaseDefinition]) -> usize {
    bases.iter().map(|base| base.files.iter().count()).sum()
}

fn boots_at_once(settings: &Settings) -> usize {
    settings.boots_at_once.map_or_else(|| BootSettings::default().at_once, NonZeroUsize::get)
}

/// Whether a process cannot listen on both addresses. `[::]` includes all addresses of IPv4.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    let includes = |all: IpAddr, other: IpAddr| all.is_unspecified() && (all.is_ipv6() || other.is_ipv4());
    // For port 0, the kernel chooses a free one.
    one.port() != 0 && one.port() == other.port() && (a == b || includes(a, b) || includes(b, a))
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
    if let Some(path) = settings.bmc_credentials.as_ref().filter(|path| credentials_directory::names(path).is_err()) {
        return Err(ConfigError::BmcCredentials(path.clone()));
    }
    let usual = BootSettings::default();
    Ok(BootSettings {
        credentials: settings.bmc_credentials.clone(),
        at_once: boots_at_once(settings),
        client: ClientOptions { networks: settings.bmc_network.iter().copied().collect(), ..usual.client },
        verification,
        only_from: settings.boot_only_from.unwrap_or_default(),
        ..usual
    })
}

fn fetches(settings: &Settings) -> Result<FetchSettings, ConfigError> {
    let mut fetches = FetchSettings::default();
    if !settings.base_source.is_empty() {
        fetches.allowed = AllowedSources::only(settings.base_source.clone());
    }
    if let Some(path) = &settings.base_ca {
        let read = Certificates::from_file(path);
        let read = read.map_err(|source| ConfigError::BaseCa { path: path.clone(), source })?;
        fetches.verification = Verification::CaFile(read);
    }
    if !settings.base_keys.is_empty() {
        let mut keys = Keyring::default();
        for path in &settings.base_keys {
            keys.add_file(path).map_err(|source| ConfigError::BaseKeys { path: path.clone(), source })?;
        }
        fetches.keys = keys;
    }
    if let Some(gibibytes) = settings.base_max_gib {
        fetches.limit = gibibytes.get().saturating_mul(1 << 30);
    }
    Ok(fetches)
}

fn tls(
    plane: &'static str,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    client_ca: Option<PathBuf>,
) -> Result<Option<Tls>, ConfigError> {
    match (certificate, key) {
        (None, None) if client_ca.is_some() => Err(ConfigError::ClientCaWithoutTls),
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(match client_ca {
            Some(client_ca) => Tls::for_clients_of(&certificate, &key, &client_ca)?,
            None => Tls::from_files(&certificate, &key)?,
        })),
        (Some(_), None) | (None, Some(_)) => Err(ConfigError::HalfTls { plane }),
    }
}

#[cfg(test)]
mod tests;
