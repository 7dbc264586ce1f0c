//! Images of hosts, made of what the environment says and of one host's network data: for Metal3's
//! PreprovisioningImages, and for the static server.

pub mod discovery;
mod drive;
mod environment;
pub mod kernel_arguments;
mod metrics;
mod network;
mod recipe;
mod request;
mod settings;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use imagelib::base::Role;
use imagelib::image::FileName;
use tokio::sync::watch;
use tracing::{error, info, warn};

use crate::ironic_agent::{self, AgentSettings};
use crate::store::{BaseName, BaseState, Store, StoreError};
use discovery::{BasePatterns, Found, Slot};
use settings::SettingsError;

pub use drive::{DriveNetwork, DriveRequest};
pub use environment::{Environment, EnvironmentError};
pub use metrics::HostImageMetrics;
pub use request::{BuildError, Document, HostFormat, ImageRequest, NetworkSource, PublishedImage};

/// How long bases are waited for at first: an init container has often just written them, and what was written to a
/// moment ago is not taken for complete.
const SETTLING: Duration = Duration::from_secs(5);

/// What the images are made with at the moment.
struct Current {
    found: Found,
    agent: Result<AgentSettings, SettingsError>,
    /// The state of the bases, as one text: to see when it changes.
    bases: Vec<(BaseName, String)>,
}

/// Makes and holds hosts' images.
pub struct HostImages {
    store: Arc<Store>,
    environment: Environment,
    patterns: BasePatterns,
    current: RwLock<Arc<Current>>,
    changes: watch::Sender<u64>,
    metrics: HostImageMetrics,
    /// What was said of bases.
    told: Mutex<BTreeSet<String>>,
    refreshing: Mutex<()>,
}

impl HostImages {
    /// Finds the bases and opens them, which takes long where one is new: call it where waiting is allowed.
    pub fn open(store: Arc<Store>, environment: Environment, metrics: HostImageMetrics) -> Self {
        let patterns = BasePatterns {
            iso: environment.iso.clone().unwrap_or_default(),
            initrd: environment.initrd.clone().unwrap_or_default(),
            kernel: environment.kernel.clone(),
            shared_dir: environment.shared_dir.clone(),
        };
        let mut current = look(&store, &environment, &patterns, None);
        let deadline = Instant::now() + SETTLING;
        while !all_available(&store) && Instant::now() < deadline {
            thread::sleep(SETTLING / 10);
            current = look(&store, &environment, &patterns, Some(&current.found));
        }
        let current = Arc::new(current);
        if let Err(error) = &current.agent {
            error!(%error, "no image can be made until this is mended");
        }
        let (changes, _) = watch::channel(0);
        let current = RwLock::new(current);
        Self {
            store,
            environment,
            patterns,
            current,
            changes,
            metrics,
            told: Mutex::default(),
            refreshing: Mutex::default(),
        }
    }

    /// Whether there are bases for this architecture: both an ISO and an initramfs.
    pub fn supports(&self, architecture: &str) -> bool {
        self.current().found.supports(architecture)
    }

    /// Why no image can be made at all, where no base was found.
    pub fn missing_bases(&self) -> Option<String> {
        let BasePatterns { iso, initrd, shared_dir, .. } = &self.patterns;
        self.current().found.supports_none().then(|| {
            let elsewhere =
                shared_dir.as_ref().map(|directory| format!(", or of such names in {}", directory.display()));
            format!(
                "there are no base images: dayone needs the ISO {} and the initramfs {}{}",
                iso.display(),
                initrd.display(),
                elsewhere.unwrap_or_default()
            )
        })
    }

    /// Counts up when other images would be made of the same requests: a base has come or changed, or a file with
    /// settings.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Makes the image that is asked for, and serves it in place of the owner's one before. Some 100 µs for a usual host.
    pub fn publish(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError> {
        let started = Instant::now();
        let outcome = self.make(request);
        self.metrics.built(&outcome, started.elapsed());
        outcome
    }

    fn make(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError> {
        let current = self.current();
        let slot = Slot::new(request.stream, request.architecture);
        let is_host = current.found.is_host(&slot);
        let base = match request.format {
            HostFormat::Iso => current.found.iso_base(&slot),
            HostFormat::Initrd => current.found.initrd_base(&slot),
        };
        let missing = || BuildError::invalid("Base Image not available");
        let name = base.ok_or_else(missing)?;
        let base = self.store.base(name.as_str()).ok_or_else(missing)?;
        let open = match base.state() {
            BaseState::Available(open) => open,
            BaseState::Unavailable { reason } => {
                return Err(BuildError::NotReady(format!("Base Image not available: {reason}")));
            }
        };
        if request.format == HostFormat::Initrd && !base.definition().files.has(Role::Kernel) && !is_host {
            let message = format!("no kernel file available for architecture {}", request.architecture);
            return Err(BuildError::invalid(message));
        }
        let unreadable = |error: &SettingsError| {
            let why = if self.store.serves(request.owner) { BuildError::Kept } else { BuildError::NotReady };
            why(error.to_string())
        };
        let settings = current.agent.as_ref().map_err(unreadable)?;
        // An image that starts no agent may still be for a ramdisk that has one.
        let agent = (self.environment.agent_image.is_some() || !settings.ironic_urls.is_empty()).then_some(settings);
        let (recipe, report) = recipe::recipe(request, &open, agent)?;
        let unused = self.environment.for_agents_of_coreos();
        if recipe.ignition.is_none() && !unused.is_empty() {
            let text = "go into images of a CoreOS that starts the agent (IRONIC_AGENT_IMAGE), and not into those of this base";
            self.tell_once(&name, &format!("{} {text}", unused.join(", ")));
        }
        let label = Some(request.host.to_owned());
        let published = self.store.publish_for(request.owner, name.as_str(), recipe.seal(), label);
        let (image, _) = published.map_err(|error| refused(&error))?;
        let planned = image.available().ok_or_else(|| BuildError::NotReady("Base Image not available".to_owned()))?;
        planned.image.report.findings().iter().for_each(|finding| self.tell_once(&name, &finding.to_string()));
        let url = |file| self.store.url(request.owner, &image, file);
        Ok(match request.format {
            HostFormat::Iso => PublishedImage { url: url(FileName::BootIso), report, ..PublishedImage::default() },
            HostFormat::Initrd => PublishedImage {
                url: url(FileName::Initrd),
                kernel_url: planned.image.files.contains_key(&FileName::Kernel).then(|| url(FileName::Kernel)),
                extra_kernel_parameters: self.extra_kernel_parameters(request, is_host),
                report,
            },
        })
    }

    /// Makes the drive that is asked for, and serves it in place of what the owner had before.
    pub fn publish_drive(&self, request: &DriveRequest<'_>) -> Result<PublishedImage, BuildError> {
        drive::publish(&self.store, request)
    }

    /// Drops what this owner has, at once.
    pub fn discard(&self, owner: &str) {
        self.store.discard(owner);
    }

    /// Drops what others than these owners have.
    pub fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.store.retain(is_there);
    }

    /// What is to be said of a base is the same for all its hosts: it is said once, and in the log.
    fn tell_once(&self, base: &BaseName, text: &str) {
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{base}: {text}")) {
            warn!(%base, "{text}");
        }
    }

    fn extra_kernel_parameters(&self, request: &ImageRequest<'_>, is_host: bool) -> String {
        let rootfs = self.environment.rootfs_url.as_ref().map(|template| {
            let architecture = (!is_host).then_some(request.architecture);
            let url = ironic_agent::rootfs_url(template, request.stream, architecture);
            format!("coreos.live.rootfs_url={url}")
        });
        let ours = request.kernel_arguments.iter().map(|argument| argument.as_str().to_owned());
        rootfs.into_iter().chain(ours).collect::<Vec<_>>().join(" ")
    }

    /// Looks at the bases and at the files with settings once, and tells of what has changed.
    pub fn refresh(&self) {
        let _alone = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current();
        let now = look(&self.store, &self.environment, &self.patterns, Some(&before.found));
        let same_settings = now.agent == before.agent;
        if same_settings && now.bases == before.bases && now.found == before.found {
            return;
        }
        match &now.agent {
            Err(error) if !same_settings => error!(%error, "no image can be made until this is mended"),
            _ => info!("bases or settings have changed; images are made anew where they differ"),
        }
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// [Refreshes](Self::refresh) every `interval`, on a thread of its own, for as long as the images are used.
    pub fn watch(self: &Arc<Self>, interval: Duration) -> std::io::Result<()> {
        let images = Arc::downgrade(self);
        let watch = move || loop {
            thread::sleep(interval);
            match images.upgrade() {
                Some(images) => images.refresh(),
                None => return,
            }
        };
        thread::Builder::new().name("base-discovery".to_owned()).spawn(watch).map(drop)
    }

    fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for HostImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostImages").field("patterns", &self.patterns).finish_non_exhaustive()
    }
}

fn all_available(store: &Store) -> bool {
    store.bases().iter().all(|base| matches!(base.state(), BaseState::Available(_)))
}

/// Looks for bases, opens the new ones, and reads the settings.
fn look(store: &Store, environment: &Environment, patterns: &BasePatterns, before: Option<&Found>) -> Current {
    let found = patterns.discover(before);
    if let Err(error) = store.set_bases(found.definitions()) {
        error!(%error, "the bases that were found are not taken into use");
    }
    store.recheck();
    let bases = store.bases().into_iter().map(|base| {
        let state = match base.state() {
            BaseState::Available(open) => open.identity.to_string(),
            BaseState::Unavailable { reason } => reason,
        };
        (base.name().clone(), state)
    });
    let bases = bases.collect();
    Current { found, agent: settings::read(environment), bases }
}

/// What a store says, in the words of its owner's world.
fn refused(error: &StoreError) -> BuildError {
    match error {
        StoreError::Image(error) => BuildError::invalid(error.to_string()),
        StoreError::BaseUnavailable { .. } | StoreError::BaseReplaced(_) | StoreError::UnknownBase(_) => {
            BuildError::NotReady(error.to_string())
        }
        _ => BuildError::Other(error.to_string()),
    }
}
