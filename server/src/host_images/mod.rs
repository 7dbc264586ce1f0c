//! Images of hosts, made from the settings in the environment and one host's network data: for Metal3's
//! PreprovisioningImages and DataImages, and for the static server.

pub mod discovery;
mod drive;
mod environment;
pub mod kernel_arguments;
mod metrics;
mod network;
mod provider;
mod recipe;
mod request;
mod settings;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use imagelib::base::{DeliveryProfile, Role};
use imagelib::image::FileName;
use imagelib::recipe::RecipeId;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tracing::{error, info, warn};

use crate::ironic_agent::{self, AgentSettings};
use crate::store::{BaseName, Keys, Store, StoreError};
use discovery::{BasePatterns, FoundBases, Slot};
use settings::SettingsError;

pub use drive::{DriveNetwork, DriveRequest};
pub use environment::{Environment, EnvironmentError};
pub use metrics::HostImageMetrics;
pub use provider::{ImageProvider, Support};
pub use request::{BuildError, Document, HostFormat, ImageRequest, NetworkSource, PublishedImage};

/// How long to wait for the bases at the start. An init container has often just written them, and dayone does not take a
/// file for complete that was written a moment ago.
const SETTLING: Duration = Duration::from_secs(5);

/// The present bases and settings.
struct Current {
    found: FoundBases,
    agent: Result<AgentSettings, SettingsError>,
    /// The identity of each base, or why it is not available: to see when it changes.
    bases: Vec<(BaseName, Result<String, String>)>,
}

/// Makes hosts' images, and keeps them in a store.
pub struct HostImages {
    store: Arc<Store>,
    environment: Environment,
    current: RwLock<Arc<Current>>,
    changes: watch::Sender<u64>,
    can_make_images: watch::Sender<bool>,
    /// Whether dayone could read the agent's settings at any time.
    had_settings: AtomicBool,
    metrics: HostImageMetrics,
    /// The warnings about bases that were logged.
    warned: Mutex<BTreeSet<String>>,
    refreshing: Mutex<()>,
}

impl HostImages {
    /// Finds the bases and opens them. Blocks while it reads new bases, which may take long.
    pub fn open(store: Arc<Store>, environment: Environment, metrics: HostImageMetrics) -> Self {
        let mut current = scan(&store, &environment, None);
        let deadline = Instant::now() + SETTLING;
        while !all_available(&store) && Instant::now() < deadline {
            thread::sleep(SETTLING / 10);
            current = scan(&store, &environment, Some(&current.found));
        }
        if let Err(error) = &current.agent {
            error!(%error, "dayone can make no image until somebody corrects this setting");
        }
        let can_make_images = can_make_images(&environment, &current);
        Self {
            store,
            environment,
            can_make_images: watch::Sender::new(can_make_images),
            had_settings: AtomicBool::new(current.agent.is_ok()),
            current: RwLock::new(Arc::new(current)),
            changes: watch::Sender::new(0),
            metrics,
            warned: Mutex::default(),
            refreshing: Mutex::default(),
        }
    }

    /// Why this replica must get no requests for images: it found no base, can use none, or never could read the agent's settings.
    /// If it cannot read them any more, it still serves the images that it made of them.
    pub fn not_ready(&self) -> Option<String> {
        let current = self.current();
        let had_settings = self.had_settings.load(Ordering::Relaxed);
        let unreadable = || current.agent.as_ref().err().filter(|_| !had_settings).map(ToString::to_string);
        missing_bases(&self.environment, &current).or_else(unreadable)
    }

    /// Whether any image can be made at the moment: there are usable bases, and dayone can read the agent's settings.
    pub fn able(&self) -> watch::Receiver<bool> {
        self.can_make_images.subscribe()
    }

    fn build(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError> {
        let current = self.current();
        let slot = Slot::new(request.stream, request.architecture);
        let is_host = current.found.is_host(&slot);
        let base = match request.format {
            HostFormat::Iso => current.found.iso_base(&slot),
            HostFormat::Initrd => current.found.initrd_base(&slot),
        };
        let absent = |message: String| match current.found.unreadable() {
            Some(reason) => BuildError::NotReady(format!("{message}: {reason}")),
            None => BuildError::NoBase(message),
        };
        let name = base.ok_or_else(|| absent("Base Image not available".to_owned()))?;
        let not_ready = |reason| BuildError::NotReady(format!("Base Image not available: {reason}"));
        // The store gets to know the bases a moment before or after the present ones are replaced here.
        let base = self.store.base(name.as_str()).ok_or_else(|| not_ready("dayone is looking for bases".to_owned()))?;
        let open = base.state().map_err(not_ready)?;
        if request.format == HostFormat::Initrd && !base.definition().files.has(Role::Kernel) && !is_host {
            return Err(absent(format!("no kernel file available for architecture {}", request.architecture)));
        }
        let unreadable = |error: &SettingsError| {
            let why = if self.store.serves(request.owner) { BuildError::Kept } else { BuildError::NotReady };
            why(error.to_string())
        };
        let settings = current.agent.as_ref().map_err(unreadable)?;
        // An image that starts no agent may still be a ramdisk that contains one.
        let agent = (self.environment.starts_agent || !settings.ironic_urls.is_empty()).then_some(settings);
        let (recipe, report) = recipe::recipe(request, &open, agent)?;
        let unused = self.environment.for_agents_of_coreos();
        if recipe.ignition.is_none() && !unused.is_empty() {
            let text =
                "apply only to a CoreOS that starts the agent (IRONIC_AGENT_IMAGE), and not to images of this base";
            self.warn_once(&name, &format!("{} {text}", unused.join(", ")));
        }
        let label = Some(request.host.to_owned());
        let recipe = self.store.seal(recipe, &open).map_err(|error| BuildError::invalid(error.to_string()))?;
        let published = self.store.publish_for(request.owner, name.as_str(), recipe, label);
        let (image, _) = published.map_err(|error| build_error(&error))?;
        let planned = image.available().ok_or_else(|| BuildError::NotReady("Base Image not available".to_owned()))?;
        planned.image.report.findings().iter().for_each(|finding| self.warn_once(&name, &finding.to_string()));
        let of = |file| PublishedImage::of(&self.store, request.owner, &image, file);
        Ok(match request.format {
            HostFormat::Iso => PublishedImage { base: Some(name), report, ..of(FileName::BootIso) },
            HostFormat::Initrd => PublishedImage {
                base: Some(name),
                kernel_url: planned.image.files.contains_key(&FileName::Kernel).then(|| of(FileName::Kernel).url),
                extra_kernel_parameters: self.extra_kernel_parameters(request, open.base.profile(), is_host),
                report,
                ..of(FileName::Initrd)
            },
        })
    }

    /// Logs a warning about a base once: it is the same for all its hosts.
    fn warn_once(&self, base: &BaseName, text: &str) {
        if self.warned.lock().insert(format!("{base}: {text}")) {
            warn!(%base, "{text}");
        }
    }

    fn extra_kernel_parameters(&self, request: &ImageRequest<'_>, profile: DeliveryProfile, is_host: bool) -> String {
        let rootfs = self.environment.rootfs_url.as_ref().map(|template| {
            let architecture = (!is_host).then_some(request.architecture);
            let url = ironic_agent::rootfs_url(template, request.stream, architecture);
            format!("coreos.live.rootfs_url={url}")
        });
        let needed = kernel_arguments::for_network_boot(profile, request.kernel_arguments);
        let ours = needed.iter().chain(request.kernel_arguments).map(|argument| argument.as_str().to_owned());
        rootfs.into_iter().chain(ours).collect::<Vec<_>>().join(" ")
    }

    /// Looks for changed bases and settings once, and notifies those who wait for a change.
    pub fn refresh(&self) {
        let _alone = self.refreshing.lock();
        let before = self.current();
        let now = scan(&self.store, &self.environment, Some(&before.found));
        let same_settings = now.agent == before.agent;
        if same_settings && now.bases == before.bases && now.found == before.found {
            return;
        }
        match &now.agent {
            Err(error) if !same_settings => {
                error!(%error, "dayone can make no image until somebody corrects this setting");
            }
            _ => info!("bases or settings have changed; dayone makes the affected images again"),
        }
        let can_make_images = can_make_images(&self.environment, &now);
        self.had_settings.fetch_or(now.agent.is_ok(), Ordering::Relaxed);
        *self.current.write() = Arc::new(now);
        self.can_make_images.send_if_modified(|before| std::mem::replace(before, can_make_images) != can_make_images);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Takes over other installation keys, and notifies those who wait for a change: the same requests give other URLs.
    pub fn use_keys(&self, keys: &Keys) {
        self.store.use_keys(keys);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Calls [`refresh`](Self::refresh) at this interval, on its own thread, until nobody uses the images any more.
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
        Arc::clone(&self.current.read())
    }
}

impl ImageProvider for HostImages {
    fn supports(&self, architecture: &str) -> Support {
        let current = self.current();
        if current.found.supports(architecture) {
            return Support::Supported;
        }
        let unknown = current.found.unreadable().or_else(|| missing_bases(&self.environment, &current));
        unknown.map_or(Support::Unsupported, Support::Unknown)
    }

    fn can_make_images(&self) -> bool {
        *self.can_make_images.borrow()
    }

    fn publish(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError> {
        let started = Instant::now();
        let outcome = self.build(request);
        self.metrics.built(&outcome, started.elapsed());
        outcome
    }

    fn publish_drive(&self, request: &DriveRequest<'_>) -> Result<PublishedImage, BuildError> {
        drive::publish(&self.store, request)
    }

    fn drive(&self, owner: &str) -> Option<PublishedImage> {
        drive::published(&self.store, owner)
    }

    fn discard(&self, owner: &str) -> Option<RecipeId> {
        let image = self.store.image_of(owner);
        self.store.discard(owner);
        image
    }

    fn retain(&self, keep: &dyn Fn(&str) -> bool) {
        self.store.retain(keep);
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl fmt::Debug for HostImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostImages").field("environment", &self.environment).finish_non_exhaustive()
    }
}

fn can_make_images(environment: &Environment, current: &Current) -> bool {
    current.agent.is_ok() && missing_bases(environment, current).is_none()
}

/// Why there is no base for any image.
fn missing_bases(environment: &Environment, current: &Current) -> Option<String> {
    let BasePatterns { iso, initrd, shared_dir, .. } = &environment.bases;
    if current.found.supports_none() {
        let elsewhere = shared_dir.as_ref().map(|directory| format!(", or of such names in {}", directory.display()));
        let unreadable = current.found.unreadable().map(|reason| format!("; {reason}"));
        return Some(format!(
            "there are no base images: dayone needs the ISO {} and the initramfs {}{}{}",
            iso.display(),
            initrd.display(),
            elsewhere.unwrap_or_default(),
            unreadable.unwrap_or_default()
        ));
    }
    if current.bases.iter().any(|(_, state)| state.is_ok()) {
        return None;
    }
    let reason =
        |(name, state): &(BaseName, Result<String, String>)| Some(format!("{name}: {}", state.as_ref().err()?));
    let reasons: Vec<_> = current.bases.iter().filter_map(reason).collect();
    Some(format!("no base image is usable: {}", reasons.join("; ")))
}

fn all_available(store: &Store) -> bool {
    store.bases().iter().all(|base| base.available().is_some())
}

/// Looks for bases, opens new ones, and reads the settings.
fn scan(store: &Store, environment: &Environment, before: Option<&FoundBases>) -> Current {
    let found = environment.bases.discover(before);
    if let Err(error) = store.set_bases(found.definitions()) {
        error!(%error, "dayone cannot use the bases that it has found");
    }
    store.recheck();
    let bases = store.bases().into_iter().map(|base| {
        let state = base.state().map(|open| open.identity.to_string());
        (base.name().clone(), state)
    });
    let bases = bases.collect();
    Current { found, agent: settings::read(environment), bases }
}

/// The error of the store, as an error of the build.
fn build_error(error: &StoreError) -> BuildError {
    match error {
        StoreError::Image(error) => BuildError::invalid(error.to_string()),
        StoreError::BaseUnavailable { .. } | StoreError::BaseReplaced(_) | StoreError::UnknownBase(_) => {
            BuildError::NotReady(error.to_string())
        }
        _ => BuildError::Other(error.to_string()),
    }
}
