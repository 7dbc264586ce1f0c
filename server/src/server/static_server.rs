//! `dayone static-server` in one value: images of a directory of NMState documents, under the documents' names.
//!
//! The names are what clients were told, so they are no secret, and whoever reaches the port can read the images: the
//! port belongs on a network of BMCs only.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use media::listen::ListenMetrics;
use media::served::Published;
use media::{MediaMetrics, UrlForm};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use vocabulary::report::{DocumentPath, Severity};

use super::controller::{ImagesConfig, bind_images};
use crate::host_images::{
    BuildError, Document, Environment, HostFormat, HostImageMetrics, HostImages, ImageRequest, NetworkSource,
};
use crate::store::{InMemory, InstallationKey, KeyError, OpenError, Store};

/// Why the static server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StaticStartError {
    /// The address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] super::StartError),
    /// The directory, or a file in it, cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No image can be made of a document.
    #[error("{}: {source}", path.display())]
    Image {
        /// The document.
        path: PathBuf,
        /// Why.
        source: BuildError,
    },
    /// The bases cannot be taken into use.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The system has no random numbers.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A mistake in dayone.
    #[error("making the images failed: {0}")]
    Internal(#[from] JoinError),
}

/// Everything that a static server is started with.
#[derive(Debug)]
pub struct StaticConfig {
    /// What goes into the images.
    pub environment: Environment,
    /// Where images are served.
    pub images: ImagesConfig,
    /// The documents.
    pub nmstate_dir: PathBuf,
}

/// A static server that runs.
#[derive(Debug)]
pub struct StaticServer {
    stopping: CancellationToken,
    planes: JoinSet<()>,
}

impl StaticServer {
    /// Makes all images and serves them. A document of which none can be made is an error.
    pub async fn start(config: StaticConfig) -> Result<Self, StaticStartError> {
        let listener = bind_images(&config.images, ListenMetrics::default()).await?;
        let StaticConfig { environment, images: ImagesConfig { cache_dir, url, .. }, nmstate_dir } = config;
        let publishing = move || {
            let key = InstallationKey::generate()?;
            let settings =
                InMemory { digests: cache_dir, replicated: false, ..InMemory::new(key, url, UrlForm::Named) };
            let store = Arc::new(Store::in_memory(settings)?);
            publish(&HostImages::open(Arc::clone(&store), environment, HostImageMetrics::default()), &nmstate_dir)?;
            Ok::<_, StaticStartError>(store)
        };
        let store = tokio::task::spawn_blocking(publishing).await??;
        let stopping = CancellationToken::new();
        let media = media::service(store as Arc<dyn Published>, MediaMetrics::default());
        let mut planes = JoinSet::new();
        planes.spawn(listener.serve(media, stopping.clone()));
        Ok(Self { stopping, planes })
    }

    /// Stops: no connection is accepted any more, and transfers that are running may end until the drain limit.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        while self.planes.join_next().await.is_some() {}
    }
}

/// Makes an ISO and an initramfs of each document, in the order of their names. All that is wrong is logged; the first
/// is the error.
fn publish(images: &HostImages, directory: &Path) -> Result<(), StaticStartError> {
    let mut failed = None;
    for path in documents(directory)? {
        let document = fs::read(&path).map_err(|source| StaticStartError::Read { path: path.clone(), source })?;
        let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let (file, host) = (text(path.file_name()), text(path.file_stem()));
        let name = file.strip_suffix(".yaml").unwrap_or(&file);
        for (format, suffix) in [(HostFormat::Iso, "iso"), (HostFormat::Initrd, "initramfs")] {
            let owner = format!("{name}.{suffix}");
            let request = ImageRequest {
                owner: &owner,
                host: &host,
                format,
                architecture: "",
                stream: None,
                network: Some(NetworkSource::Nmstate(Document {
                    bytes: &document,
                    path: DocumentPath::document(&file),
                })),
                kernel_arguments: &[],
            };
            match images.publish(&request) {
                Ok(image) => {
                    let warnings =
                        image.report.findings().iter().filter(|finding| finding.severity == Severity::Warning);
                    warnings.for_each(|finding| warn!(document = %path.display(), "{finding}"));
                    info!(url = image.url, "image is served");
                }
                Err(source) => {
                    error!(document = %path.display(), error = %source, image = owner, "no image can be made");
                    failed.get_or_insert(StaticStartError::Image { path: path.clone(), source });
                }
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

fn documents(directory: &Path) -> Result<Vec<PathBuf>, StaticStartError> {
    let failed = |source| StaticStartError::Read { path: directory.to_owned(), source };
    let mut documents = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A ConfigMap that is mounted has links to files, and directories of its own that begin with dots.
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.is_file() {
            documents.push(path);
        }
    }
    documents.sort();
    Ok(documents)
}
