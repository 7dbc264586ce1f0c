//! `dayone controller`: the media plane over a store in memory, and the controller that fills it.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use media::access::Clock;
use media::listen::{ListenMetrics, Listener, LiveOptions, Options, Tls};
use media::{MediaMetrics, MediaUrl, UrlForm};
use parking_lot::{Mutex, RwLock};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::audited::Audited;
use super::{StartError, bind_everywhere, options_for_bmcs, replace_tls, start_audit};
use crate::audit::{AuditMetrics, AuditSettings};
use crate::host_images::{Environment, HostImageMetrics, HostImages};
use crate::kubernetes::{self, Controller, KeySchedule, KeySecretApi, KubernetesMetrics, Leadership};
use crate::metrics::Metrics;
use crate::monitoring::{self, Monitored};
use crate::open_files::MediaConnections;
use crate::site_key::SiteKeyPair;
use crate::store::{InMemory, Keys, OpenError, Store};

/// How often dayone looks for changed bases, and for changed files with settings.
const REFRESH: Duration = Duration::from_secs(5);

/// The maximum number of connections for metrics and health. Prometheus and the kubelet use them.
const OBSERVERS: u32 = 64;

/// The number of open files to reserve for bases. How many there are is not known yet, and changes.
const BASE_FILES: usize = 64;

/// The configuration of a controller.
#[derive(Debug)]
pub struct ControllerConfig {
    /// The settings for the images.
    pub environment: Environment,
    /// How to serve images.
    pub images: ImagesConfig,
    /// The form of images' URLs.
    pub urls: UrlForm,
    /// The address of metrics and health.
    pub metrics_listen: Option<SocketAddr>,
    /// How to reach the API server. `None`: as the service account of the Pod.
    pub kubeconfig: Option<PathBuf>,
    /// The namespace of the PreprovisioningImages; `None` for all namespaces.
    pub namespace: Option<String>,
    /// This replica's own namespace, with the key and the Lease.
    pub own_namespace: String,
    /// This replica's name.
    pub identity: String,
    /// Namespace and name of the Secret with the key for images' URLs.
    pub key_secret: (String, String),
    /// Name of the Lease.
    pub lease: String,
    /// How many objects the controller reconciles at a time.
    pub concurrency: u16,
    /// How long to keep serving after reporting not ready.
    pub shutdown_delay: Duration,
}

/// How to serve images.
#[derive(Debug)]
pub struct ImagesConfig {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The URL under which clients reach that address.
    pub url: MediaUrl,
    /// Without it, the server speaks plain HTTP.
    pub tls: Option<Tls>,
    /// How many connections one client address may have open at once. `None`: half of all.
    pub per_address: Option<u32>,
    /// The directory for the digests of bases.
    pub cache_dir: Option<PathBuf>,
    /// The key that signs the addons of images.
    pub site_key: Option<Arc<SiteKeyPair>>,
    /// The audit log. `None`: there is none.
    pub audit: Option<AuditSettings>,
    /// How long running transfers may take to finish when the program stops.
    pub drain: Duration,
}

/// A running controller. Dropping it stops it at once. [`ControllerServer::stop`] lets transfers finish.
pub struct ControllerServer {
    controller: Controller,
    status: Arc<ControllerStatus>,
    shutdown_delay: Mutex<Duration>,
    image_options: LiveOptions,
    audited: Audited,
    stopping: CancellationToken,
    planes: JoinSet<()>,
    observers: JoinSet<()>,
}

/// The status that the probes and the metrics show.
struct ControllerStatus {
    metrics: Metrics,
    stage: RwLock<Stage>,
}

#[derive(Clone)]
enum Stage {
    /// What the controller waits for.
    Starting(&'static str),
    Running {
        store: Arc<Store>,
        images: Arc<HostImages>,
        is_ready: Arc<dyn Fn() -> bool + Send + Sync>,
    },
    Stopping,
}

impl ControllerStatus {
    fn enter(&self, stage: Stage) {
        *self.stage.write() = stage;
    }

    fn stage(&self) -> Stage {
        self.stage.read().clone()
    }
}

impl Monitored for ControllerStatus {
    fn not_ready(&self) -> Option<String> {
        match self.stage() {
            Stage::Starting(what) => Some(format!("starting: {what}")),
            Stage::Running { images, is_ready, .. } => {
                images.not_ready().or_else(|| (!is_ready()).then(|| "not all images have been made yet".to_owned()))
            }
            Stage::Stopping => Some("stopping".to_owned()),
        }
    }

    fn store(&self) -> Option<Arc<Store>> {
        match self.stage() {
            Stage::Running { store, .. } => Some(store),
            _ => None,
        }
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

impl ControllerServer {
    /// Starts a controller. It answers probes at once. It serves images when it has opened the bases and read the key from
    /// the API server, for which it waits without a limit.
    pub async fn start(config: ControllerConfig) -> Result<Self, StartError> {
        let (media_metrics, listen_metrics) = (MediaMetrics::default(), ListenMetrics::default());
        let (metrics, (image_metrics, controller_metrics, audit_metrics)) = Metrics::new(|registry| {
            media_metrics.register(registry);
            listen_metrics.register(registry, "media");
            (HostImageMetrics::new(registry), KubernetesMetrics::new(registry), AuditMetrics::new(registry))
        });
        let stage = RwLock::new(Stage::Starting("reading the key for images' URLs from the API server"));
        let status = Arc::new(ControllerStatus { metrics, stage });
        let mut observers = JoinSet::new();
        if let Some(address) = config.metrics_listen {
            let options = Options {
                max_connections: OBSERVERS,
                max_per_address: MediaConnections::per_address(OBSERVERS, None),
                drain: Duration::ZERO,
                ..Options::default()
            };
            let (listener, address) = bind_everywhere(address, options, "metrics and health").await?;
            info!(%address, "serving metrics and health");
            let router = monitoring::router(Arc::clone(&status) as Arc<dyn Monitored>);
            observers.spawn(listener.serve(router, CancellationToken::new()));
        }
        let media_listener = bind_images(&config.images, listen_metrics).await?;
        let audit = start_audit(config.images.audit.clone(), audit_metrics).await?;
        config.images.url.warnings().iter().for_each(|warning| warn!("{warning}"));
        if config.images.tls.is_some() && !config.images.url.is_https() {
            warn!("images are served over TLS, but their URL begins with http://: set --images-publish-addr");
        }

        let client = kubernetes::connect(config.kubeconfig.as_deref()).await.map_err(StartError::Cluster)?;
        let client = kubernetes::counted(client, controller_metrics.clone());
        let (key_namespace, key_name) = &config.key_secret;
        let secret = kubernetes::installation_key(&client, key_namespace, key_name).await?;
        let key_secret = KeySecretApi::new(client.clone(), key_namespace, key_name);

        status.enter(Stage::Starting("reading the bases"));
        let (digests, url, site_key) = (config.images.cache_dir, config.images.url.clone(), config.images.site_key);
        let (environment, urls) = (config.environment, config.urls);
        let opening = move || {
            let key = secret.key().clone();
            let store = Store::in_memory(InMemory { digests, ..InMemory::new(key, url, urls) })?;
            let store = Arc::new(store.with_site_key(site_key));
            let (schedule, keys) = KeySchedule::new(secret, store.now());
            store.use_keys(&keys);
            let images = Arc::new(HostImages::open(Arc::clone(&store), environment, image_metrics));
            Ok::<_, OpenError>((store, images, schedule))
        };
        let (store, images, schedule) = tokio::task::spawn_blocking(opening).await??;
        images.watch(REFRESH).map_err(StartError::Watch)?;

        let image_options = media_listener.options();
        let stopping = CancellationToken::new();
        let audited = Audited::start(audit.clone(), &store, &stopping);
        let media = audited.service(&store, media_metrics);
        let mut planes = JoinSet::new();
        planes.spawn(media_listener.serve_directly(media, stopping.clone()));
        let follower = Arc::clone(&images);
        let use_keys = move |keys: Keys| follower.use_keys(&keys);
        planes.spawn(key_secret.follow(Clock::default(), schedule, use_keys, stopping.clone()));
        let (own_namespace, lease, identity) = (&config.own_namespace, &config.lease, &config.identity);
        let leadership = Leadership::elect(client.clone(), own_namespace, lease, identity, images.able());
        let discovered = Arc::clone(&images);
        let controller = Controller::start(kubernetes::Config {
            client: kubernetes::with_metal3_version(client),
            namespace: config.namespace,
            identity: config.identity,
            concurrency: config.concurrency,
            images,
            leadership,
            metrics: controller_metrics,
            audit,
        });
        status.enter(Stage::Running { store, images: discovered, is_ready: Arc::new(controller.readiness()) });
        info!(url = %config.images.url, "serving images");
        let shutdown_delay = Mutex::new(config.shutdown_delay);
        Ok(Self { controller, status, shutdown_delay, image_options, audited, stopping, planes, observers })
    }

    /// Takes over what can change while the controller runs: the certificate and the limits.
    pub fn configure(&self, images: &ImagesConfig, shutdown_delay: Duration) {
        configure_images(&self.image_options, images);
        self.audited.audit.reopen();
        *self.shutdown_delay.lock() = shutdown_delay;
    }

    /// Stops: releases the Lease, so that another replica may write, and reports not ready, while it still serves and makes
    /// new images. After the shutdown delay, it accepts no more connections, and lets running transfers finish within the drain
    /// limit.
    pub async fn stop(mut self) {
        self.status.enter(Stage::Stopping);
        self.controller.follow().await;
        let shutdown_delay = *self.shutdown_delay.lock();
        tokio::time::sleep(shutdown_delay).await;
        self.controller.stop().await;
        self.stopping.cancel();
        while self.planes.join_next().await.is_some() {}
        self.audited.stop().await;
        self.observers.abort_all();
    }
}

/// Takes over the certificate and the limits of a running listener.
pub(super) fn configure_images(options: &LiveOptions, images: &ImagesConfig) {
    options.change(|options| {
        replace_tls(&mut options.tls, images.tls.clone());
        options.drain = images.drain;
        options.max_per_address = MediaConnections::per_address(options.max_connections, images.per_address);
    });
}

/// Binds the address for images.
pub(super) fn bind_images(
    config: &ImagesConfig,
    metrics: ListenMetrics,
) -> impl Future<Output = Result<Listener, StartError>> + use<> {
    let (address, options) = (config.listen, image_options(config, metrics));
    async move {
        let (listener, address) = bind_everywhere(address, options, "images").await?;
        info!(%address, "listening for image requests");
        Ok(listener)
    }
}

/// The options of the listener for images.
fn image_options(config: &ImagesConfig, metrics: ListenMetrics) -> Options {
    let connections = MediaConnections::within_limit(OBSERVERS, BASE_FILES, 0, config.per_address);
    Options {
        tls: config.tls.clone(),
        drain: config.drain,
        metrics,
        ..options_for_bmcs(connections, Options::default().idle_timeout)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_bmc_may_pause_between_requests_for_as_long_as_within_an_answer() {
        let config = ImagesConfig {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            url: "http://127.0.0.1:8084".parse().unwrap(),
            tls: None,
            per_address: None,
            cache_dir: None,
            site_key: None,
            audit: None,
            drain: Duration::ZERO,
        };
        let options = image_options(&config, ListenMetrics::default());
        assert_eq!([options.idle_timeout, options.header_timeout], [Duration::from_mins(5); 2]);
    }
}
