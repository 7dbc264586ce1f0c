//! The programs that serve, each as one value: [`Server`] for `dayone serve`, [`ControllerServer`] for `dayone controller`, and
//! [`StaticServer`] for `dayone static-server`. Commands, tests and benchmarks start them.

mod audited;
mod config;
mod controller;
mod error;
mod installation_key;
mod static_server;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use media::access::Clock;
use media::listen::{ListenMetrics, Listener, LiveOptions, Options, Tls};
use media::reading::TakeAfter;
use media::served::Published;
use media::{MediaMetrics, MediaUrl};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::api::Api;
use crate::api::access::{Access, Transport};
use crate::api::clients::ApiClients;
use crate::api::rate_limits::RateLimits;
use crate::audit::{Audit, AuditMetrics, AuditSettings, Event, Readings, Who};
use crate::bases::{BaseFetches, FetchMetrics};
use crate::boots::{BootMetrics, Boots};
use crate::metrics::Metrics;
use crate::open_files::MediaConnections;
use crate::page;
use crate::store::{OpenError, Store, Watch};

pub use config::{Config, ConfigError};
pub(crate) use config::{DATA_DIR, open_files_needed};
pub use controller::{ControllerConfig, ControllerServer, ImagesConfig};
pub use error::StartError;
use installation_key::KeyFollower;
pub use static_server::{StaticConfig, StaticServer};

/// The default port for BMCs.
const MEDIA_PORT: u16 = 8081;

/// The maximum number of connections to the API. Clients are few, and each may send 4 MiB.
const API_CONNECTIONS: u32 = 256;

/// How many of them one address can have. All clients of a proxy have one address, and each one that follows events holds a connection
/// ([`MAX_FOLLOWERS`](crate::live::MAX_FOLLOWERS) for each of three kinds), so this is more than all followers together.
const API_CONNECTIONS_PER_ADDRESS: u32 = 224;

/// A running server: both planes over one store. Dropping it stops it at once. [`Server::stop`] lets running requests finish.
#[derive(Debug)]
pub struct Server {
    api_address: SocketAddr,
    media_address: SocketAddr,
    media_url: MediaUrl,
    clients: ApiClients,
    limits: RateLimits,
    boots: Boots,
    audit: Audit,
    /// Wakes the follower of the installation key.
    key_now: Arc<Notify>,
    readings: JoinHandle<Readings>,
    api_options: LiveOptions,
    media_options: LiveOptions,
    stopping: CancellationToken,
    planes: JoinSet<()>,
    store: Arc<Store>,
    watch: Watch,
}

impl Server {
    /// Starts a server. When this returns, both planes answer.
    ///
    /// The server binds its addresses before it opens the store, which takes long if a new base has to be read. Meanwhile,
    /// a BMC that connects waits for its answer. It would give up on a closed port.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        config.check()?;
        let (api_metrics, listen_metrics) = (ListenMetrics::default(), ListenMetrics::default());
        let api_options = Options {
            tls: config.api_tls.clone(),
            drain: config.drain,
            max_connections: API_CONNECTIONS,
            max_per_address: API_CONNECTIONS_PER_ADDRESS,
            service_answers_faults: true,
            metrics: api_metrics.clone(),
            ..Options::default()
        };
        let media_options = media_options(&config, &listen_metrics);
        let (api_listener, api_address) = bind(config.api_listen, api_options, "the API").await?;
        let (media_listener, media_address) = bind_media(config.media_listen, media_options).await?;
        let media_url = match &config.media_url {
            Some(url) => url.clone(),
            None => MediaUrl::of_listener(media_address, config.media_tls.is_some())?,
        };
        for (_, warning) in config.warnings(&media_url) {
            warn!("{warning}");
        }
        let (data_dir, keys, bases) = (config.data_dir.clone(), config.data_keys.clone(), config.bases.clone());
        let (url, site_key) = (media_url.clone(), config.site_key.clone());
        let open = move || {
            let store = Store::open_with(&data_dir, keys, bases, url, Clock::default())?;
            Ok::<_, OpenError>(store.with_site_key(site_key))
        };
        let store = tokio::task::spawn_blocking(open).await??;
        let store = Arc::new(store);
        let watch = store.watch(config.recheck).map_err(StartError::Watch)?;

        let stopping = CancellationToken::new();
        let media_metrics = MediaMetrics::default();
        let (metrics, (boot_metrics, fetch_metrics, audit_metrics)) = Metrics::new(|registry| {
            media_metrics.register(registry);
            listen_metrics.register(registry, "media");
            api_metrics.register(registry, "api");
            (BootMetrics::new(registry), FetchMetrics::new(registry), AuditMetrics::new(registry))
        });
        let metrics = Arc::new(metrics);
        let audit = start_audit(config.audit.clone(), audit_metrics).await?;
        let instance = instance()?;
        let media = media::service_with_probe(
            Arc::clone(&store) as Arc<dyn Published>,
            media_metrics,
            &instance,
            audit.is_on(),
        );
        let boots = Boots::start(
            Arc::clone(&store),
            media_url.clone(),
            media.call_homes().clone(),
            config.boots,
            boot_metrics,
            audit.clone(),
            stopping.clone(),
        );
        let boots = boots.await.map_err(StartError::Boots)?;
        let fetches = BaseFetches::start(Arc::clone(&store), config.fetches, fetch_metrics, stopping.clone());
        let fetches = fetches.map_err(StartError::Fetches)?;
        let readings = tokio::spawn(Readings::new(Arc::clone(&store), audit.clone()).follow(stopping.clone()));
        let key_now = Arc::new(Notify::new());
        let key_follower = KeyFollower::new(&store, &boots, &audit, &key_now, config.recheck);
        let api = Api::new(
            Arc::clone(&store),
            media.clone(),
            media_url.clone(),
            boots.clone(),
            fetches,
            metrics,
            stopping.clone(),
        );
        let clients = config.api_clients;
        let access = Access::new(clients.clone(), Transport::of(config.api_tls.as_ref())).with_audit(audit.clone());
        let limits = RateLimits::new(config.api_requests_per_second);
        let router = api.into_router(access.clone(), limits.clone(), audit.clone(), page::router(access));
        let (api_options, media_options) = (api_listener.options(), media_listener.options());
        let mut planes = JoinSet::new();
        planes.spawn(media_listener.serve_directly(media, stopping.clone()));
        planes.spawn(api_listener.serve(router, stopping.clone()));
        planes.spawn(key_follower.follow(stopping.clone()));
        info!(api = %api_address, media = %media_address, media_url = %media_url, "dayone serves");
        Ok(Self {
            api_address,
            media_address,
            media_url,
            clients,
            limits,
            boots,
            audit,
            key_now,
            readings,
            api_options,
            media_options,
            stopping,
            planes,
            store,
            watch,
        })
    }

    /// The address of the API.
    pub fn api_address(&self) -> SocketAddr {
        self.api_address
    }

    /// The address of the media plane.
    pub fn media_address(&self) -> SocketAddr {
        self.media_address
    }

    /// The beginning of all images' URLs.
    pub fn media_url(&self) -> &MediaUrl {
        &self.media_url
    }

    /// Takes over what can change while the server runs: tokens, certificates, limits, the settings for boots, and in a moment the
    /// installation key. Nothing of it can fail. Must be called on a runtime. Returns whether the API has other clients.
    pub fn configure(&self, config: Config) -> bool {
        let has_certificates = Transport::of(config.api_tls.as_ref()) == Transport::MutualTls;
        if !self.clients.is_empty() && config.api_clients.is_empty() && !has_certificates {
            tracing::warn!("the API has no tokens any more: every program on this machine can use it");
        }
        let has_other_clients = self.clients.replace(&config.api_clients);
        self.limits.set(config.api_requests_per_second);
        self.key_now.notify_one();
        self.audit.reopen();
        self.audit.record(Who::SERVER, Event::SettingsReloaded { clients: self.clients.len() });
        self.boots.configure(config.boots);
        self.api_options.change(|options| {
            replace_tls(&mut options.tls, config.api_tls);
            options.drain = config.drain;
        });
        self.media_options.change(|options| {
            replace_tls(&mut options.tls, config.media_tls);
            options.idle_timeout = config.media_idle;
            options.header_timeout = config.media_idle;
            options.sendfile = config.media_sendfile;
            options.drain = config.drain;
            options.max_per_address = MediaConnections::per_address(options.max_connections, config.media_per_address);
        });
        has_other_clients
    }

    /// Stops: the server is not ready, accepts no more connections, and lets running requests finish within the drain limit. The
    /// sessions of boots at BMCs are closed. Then it records how often limited images were read.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        // The work on boots ends now, too, so the time for their sessions does not come on top of the drain limit.
        let (planes, boots) = (&mut self.planes, &self.boots);
        tokio::join!(async { while planes.join_next().await.is_some() {} }, boots.stopped());
        // Whatever it would release from now on, nobody would record.
        drop(self.watch);
        let store = Arc::clone(&self.store);
        let readings = self.readings.await;
        let audit = self.audit;
        let end = tokio::task::spawn_blocking(move || {
            store.record_reads();
            if let Ok(mut readings) = readings {
                readings.record_finished(TakeAfter::NOW);
            }
            audit.record(Who::SERVER, Event::ServerStopped);
            audit.stop();
        });
        // Fails only if the work panics; the panic hook has logged where.
        let _ = end.await;
    }
}

/// The options of the media plane's listener.
fn media_options(config: &Config, metrics: &ListenMetrics) -> Options {
    let (base_files, boots) = (config.base_files(), config.boots.at_once);
    let connections = MediaConnections::within_limit(API_CONNECTIONS, base_files, boots, config.media_per_address);
    Options {
        tls: config.media_tls.clone(),
        drain: config.drain,
        sendfile: config.media_sendfile,
        metrics: metrics.clone(),
        ..options_for_bmcs(connections, config.media_idle)
    }
}

/// The options of a listener for images that are the same in all programs.
fn options_for_bmcs(connections: MediaConnections, idle: Duration) -> Options {
    Options {
        idle_timeout: idle,
        // A host that waits at a boot menu reads nothing, and some BMCs never connect again.
        header_timeout: idle,
        max_connections: connections.all,
        max_per_address: connections.per_address,
        threads: std::thread::available_parallelism().ok(),
        ..Options::default()
    }
}

/// Opens the audit log if there shall be one.
async fn start_audit(settings: Option<AuditSettings>, metrics: AuditMetrics) -> Result<Audit, StartError> {
    let Some(settings) = settings else { return Ok(Audit::default()) };
    let audit = tokio::task::spawn_blocking(move || Audit::start(&settings, metrics)).await?;
    let audit = audit.map_err(StartError::Audit)?;
    audit.record(Who::SERVER, Event::ServerStarted { version: env!("CARGO_PKG_VERSION").to_owned() });
    Ok(audit)
}

/// A name for this run of the server, which no other run has.
fn instance() -> Result<String, StartError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(StartError::Random)?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

/// Replaces a certificate and its key. Whether a listener speaks TLS at all never changes.
fn replace_tls(current: &mut Option<Tls>, new: Option<Tls>) {
    if let (Some(current), Some(new)) = (current, new) {
        *current = new;
    }
}

async fn bind(
    address: SocketAddr,
    options: Options,
    plane: &'static str,
) -> Result<(Listener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { address, plane, source };
    let listener = Listener::bind(address, options).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

async fn bind_media(address: Option<SocketAddr>, options: Options) -> Result<(Listener, SocketAddr), StartError> {
    const PLANE: &str = "images";
    match address {
        None => bind_everywhere(config::EVERYWHERE, options, PLANE).await,
        Some(address) => bind(address, options, PLANE).await,
    }
}

/// Binds an address. `[::]` includes IPv4. If the kernel has no IPv6, this binds `0.0.0.0` instead.
async fn bind_everywhere(
    address: SocketAddr,
    options: Options,
    plane: &'static str,
) -> Result<(Listener, SocketAddr), StartError> {
    match bind(address, options.clone(), plane).await {
        Err(StartError::Listen { source, .. }) if address.ip() == Ipv6Addr::UNSPECIFIED && is_without_ipv6(&source) => {
            bind((Ipv4Addr::UNSPECIFIED, address.port()).into(), options, plane).await
        }
        result => result,
    }
}

fn is_without_ipv6(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::AddrNotAvailable)
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_ipv6_is_not_confused_with_a_port_in_use() {
        use rustix::io::Errno;
        let is_without = |errno: Errno| is_without_ipv6(&io::Error::from_raw_os_error(errno.raw_os_error()));
        assert!(is_without(Errno::AFNOSUPPORT) && is_without(Errno::ADDRNOTAVAIL));
        assert!(!is_without(Errno::ADDRINUSE) && !is_without(Errno::ACCESS));
    }

    #[tokio::test]
    async fn all_addresses_include_those_of_ipv4() {
        let everywhere = (Ipv6Addr::UNSPECIFIED, 0).into();
        let (_listener, bound) = bind_everywhere(everywhere, Options::default(), "images").await.unwrap();
        tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, bound.port())).await.unwrap();
    }
}
