//! `dayone controller` in one value: the media plane over an in-memory store, and the controller that fills it.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use media::listen::{ListenMetrics, Listener, Options, Tls};
use media::served::Published;
use media::{MediaMetrics, MediaUrl, UrlForm};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::bind_everywhere;
use crate::host_images::{Environment, HostImageMetrics, HostImages};
use crate::kubernetes::{self, ConnectError, Controller, InstallationKeyError, KubernetesMetrics, Leadership};
use crate::metrics::Metrics;
use crate::monitoring::{self, Monitored};
use crate::open_files::MediaConnections;
use crate::store::{InMemory, OpenError, Store};

/// How often bases, and the files with settings, are looked at.
const REFRESH: Duration = Duration::from_secs(5);

/// Prometheus and the kubelet.
const OBSERVERS: u32 = 64;

/// Files of bases to leave room for: which there are is found out later, and changes.
const BASE_FILES: usize = 64;

/// Why the controller does not start.
#[derive(Debug, thiserror::Error)]
pub enum ControllerStartError {
    /// An address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] super::StartError),
    /// It is not known how to reach the API server.
    #[error("cannot tell how to reach the Kubernetes API server: {0}; run in a cluster, or give --kubeconfig FILE")]
    Cluster(ConnectError),
    /// The key of images' URLs cannot be had.
    #[error(transparent)]
    Key(#[from] InstallationKeyError),
    /// The bases cannot be taken into use.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// Bases cannot be watched.
    #[error("cannot start the thread that watches bases: {0}")]
    Watch(std::io::Error),
    /// A mistake in dayone.
    #[error("opening the bases failed: {0}")]
    Internal(#[from] JoinError),
}

/// Everything that a controller is started with.
#[derive(Debug)]
pub struct ControllerConfig {
    /// What goes into the images.
    pub environment: Environment,
    /// Where images are served.
    pub images: ImagesConfig,
    /// How images' URLs look.
    pub urls: UrlForm,
    /// Where metrics and health are.
    pub metrics_listen: Option<SocketAddr>,
    /// How to reach the API server; none: as clients in a cluster do.
    pub kubeconfig: Option<PathBuf>,
    /// Whose PreprovisioningImages; none: everybody's.
    pub namespace: Option<String>,
    /// This replica's own namespace, with the key and the Lease.
    pub own_namespace: String,
    /// This replica's name.
    pub identity: String,
    /// Namespace and name of the Secret with the key of images' URLs.
    pub key_secret: (String, String),
    /// Name of the Lease.
    pub lease: String,
    /// Objects that are worked on at a time.
    pub concurrency: u16,
    /// How long to go on listening after readiness has ended.
    pub shutdown_delay: Duration,
}

/// Where images are served.
#[derive(Debug)]
pub struct ImagesConfig {
    /// The address.
    pub listen: SocketAddr,
    /// What others call it.
    pub url: MediaUrl,
    /// Without it, plain HTTP is served.
    pub tls: Option<Tls>,
    /// How many connections one address may have open to them at once. None: half of all.
    pub per_address: Option<u32>,
    /// Where digests of bases are kept.
    pub cache_dir: Option<PathBuf>,
    /// How long running transfers may take once the program stops.
    pub drain: Duration,
}

/// A controller that runs. Dropping it stops it at once; [`ControllerServer::stop`] lets transfers end first.
pub struct ControllerServer {
    controller: Controller,
    observed: Arc<Observation>,
    shutdown_delay: Duration,
    stopping: CancellationToken,
    planes: JoinSet<()>,
    observers: JoinSet<()>,
}

/// What others see of it.
struct Observation {
    metrics: Metrics,
    stage: RwLock<Stage>,
}

#[derive(Clone)]
enum Stage {
    /// What is waited for.
    Starting(&'static str),
    Running {
        store: Arc<Store>,
        images: Arc<HostImages>,
        is_ready: Arc<dyn Fn() -> bool + Send + Sync>,
    },
    Stopping,
}

impl Observation {
    fn enter(&self, stage: Stage) {
        *self.stage.write().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    fn stage(&self) -> Stage {
        self.stage.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Monitored for Observation {
    fn not_ready(&self) -> Option<String> {
        match self.stage() {
            Stage::Starting(what) => Some(format!("starting: {what}")),
            Stage::Running { images, is_ready, .. } => {
                images.missing_bases().or_else(|| (!is_ready()).then(|| "not all images have been made yet".to_owned()))
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
    /// Starts a controller: health is answered at once, images when the bases are open and the API server has given the
    /// key. That may take as long as it takes.
    pub async fn start(config: ControllerConfig) -> Result<Self, ControllerStartError> {
        let (media_metrics, listen_metrics) = (MediaMetrics::default(), ListenMetrics::default());
        let image_metrics = HostImageMetrics::default();
        let controller_metrics = KubernetesMetrics::default();
        let metrics = Metrics::new(|registry| {
            media_metrics.register(registry);
            listen_metrics.register(registry, "media");
            image_metrics.register(registry);
            controller_metrics.register(registry);
        });
        let stage = RwLock::new(Stage::Starting("asking the API server for the key of the images' URLs"));
        let observed = Arc::new(Observation { metrics, stage });
        let mut observers = JoinSet::new();
        if let Some(address) = config.metrics_listen {
            let options = Options {
                max_connections: OBSERVERS,
                max_per_address: OBSERVERS,
                drain: Duration::ZERO,
                ..Options::default()
            };
            let (listener, address) = bind_everywhere(address, options, "metrics and health").await?;
            info!(%address, "metrics and health are served");
            let router = monitoring::router(Arc::clone(&observed) as Arc<dyn Monitored>);
            observers.spawn(listener.serve(router, CancellationToken::new()));
        }
        let media_listener = bind_images(&config.images, listen_metrics).await?;
        config.images.url.warnings().iter().for_each(|warning| warn!("{warning}"));

        let client = kubernetes::connect(config.kubeconfig.as_deref()).await.map_err(ControllerStartError::Cluster)?;
        let (key_namespace, key_name) = &config.key_secret;
        let key = kubernetes::installation_key(&client, key_namespace, key_name).await?;

        observed.enter(Stage::Starting("reading the bases"));
        let (digests, url) = (config.images.cache_dir, config.images.url.clone());
        let (environment, urls) = (config.environment, config.urls);
        let opening = move || {
            let store = Arc::new(Store::in_memory(InMemory { digests, ..InMemory::new(key, url, urls) })?);
            let images = Arc::new(HostImages::open(Arc::clone(&store), environment, image_metrics));
            Ok::<_, OpenError>((store, images))
        };
        let (store, images) = tokio::task::spawn_blocking(opening).await??;
        images.watch(REFRESH).map_err(ControllerStartError::Watch)?;

        let stopping = CancellationToken::new();
        let media = media::service(Arc::clone(&store) as Arc<dyn Published>, media_metrics);
        let mut planes = JoinSet::new();
        planes.spawn(media_listener.serve(media, stopping.clone()));
        let leadership = Leadership::elect(client.clone(), &config.own_namespace, &config.lease, &config.identity);
        let discovered = Arc::clone(&images);
        let controller = Controller::start(kubernetes::Config {
            client,
            namespace: config.namespace,
            identity: config.identity,
            concurrency: config.concurrency,
            images,
            leadership,
            metrics: controller_metrics,
        });
        observed.enter(Stage::Running { store, images: discovered, is_ready: Arc::new(controller.readiness()) });
        info!(url = %config.images.url, "images are served");
        Ok(Self { controller, observed, shutdown_delay: config.shutdown_delay, stopping, planes, observers })
    }

    /// Stops: another replica may write from now on; Services learn that this one goes, while it still listens and learns of
    /// new images; then no connection is accepted any more, and transfers that are running may end until the drain limit.
    pub async fn stop(mut self) {
        self.observed.enter(Stage::Stopping);
        self.controller.follow().await;
        tokio::time::sleep(self.shutdown_delay).await;
        self.controller.stop().await;
        self.stopping.cancel();
        while self.planes.join_next().await.is_some() {}
        self.observers.abort_all();
    }
}

/// Binds the address that images are served at.
pub(super) fn bind_images(
    config: &ImagesConfig,
    metrics: ListenMetrics,
) -> impl Future<Output = Result<Listener, super::StartError>> + use<> {
    let connections = MediaConnections::within_limit(OBSERVERS, BASE_FILES, config.per_address);
    let options = Options {
        tls: config.tls.clone(),
        drain: config.drain,
        max_connections: connections.all,
        max_per_address: connections.per_address,
        metrics,
        ..Options::default()
    };
    let address = config.listen;
    async move {
        let (listener, address) = bind_everywhere(address, options, "images").await?;
        info!(%address, "images are listened for");
        Ok(listener)
    }
}
