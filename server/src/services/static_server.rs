//! `dayone static-server`: serves images for a directory of NMState documents, under the documents' names.
//!
//! Others can guess these names, and anyone who reaches the port can read the images. Expose it only to the BMCs' network.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use media::listen::{ListenMetrics, LiveOptions};
use media::{MediaMetrics, UrlForm};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use vocabulary::report::{DocumentPath, Severity};

use super::audited::Audited;
use super::controller::{ImagesConfig, bind_images, configure_images};
use super::{StartError, start_audit};
use crate::audit::{Audit, AuditMetrics, Event, Who};
use crate::host_images::{
    Document, Environment, HostFormat, HostImageMetrics, HostImages, ImageProvider as _, ImageRequest, NetworkSource,
    PublishedImage,
};
use crate::store::{InMemory, InstallationKey, Store};

/// The configuration of a static server.
#[derive(Debug)]
pub struct StaticConfig {
    /// The settings for the images.
    pub environment: Environment,
    /// How to serve images.
    pub images: ImagesConfig,
    /// The directory of the documents.
    pub nmstate_dir: PathBuf,
}

/// A running static server.
#[derive(Debug)]
pub struct StaticServer {
    options: LiveOptions,
    audited: Audited,
    stopping: CancellationToken,
    planes: JoinSet<()>,
}

impl StaticServer {
    /// Makes all images and serves them. Fails if no image can be made from one of the documents.
    pub async fn start(config: StaticConfig) -> Result<Self, StartError> {
        let listener = bind_images(&config.images, ListenMetrics::default()).await?;
        let audit = start_audit(config.images.audit.clone(), AuditMetrics::default()).await?;
        let options = listener.options();
        let StaticConfig { environment, images: ImagesConfig { cache_dir, url, site_key, .. }, nmstate_dir } = config;
        let log = audit.clone();
        let publishing = move || {
            let key = InstallationKey::generate()?;
            let settings =
                InMemory { digests: cache_dir, replicated: false, ..InMemory::new(key, url, UrlForm::Named) };
            let store = Arc::new(Store::in_memory(settings)?.with_site_key(site_key));
            let images = HostImages::open(Arc::clone(&store), environment, HostImageMetrics::unexported());
            publish(&images, &nmstate_dir, &log)?;
            Ok::<_, StartError>(store)
        };
        let store = tokio::task::spawn_blocking(publishing).await??;
        let stopping = CancellationToken::new();
        let audited = Audited::start(audit, &store, &stopping);
        let media = audited.service(&store, MediaMetrics::default());
        let mut planes = JoinSet::new();
        planes.spawn(listener.serve_directly(media, stopping.clone()));
        Ok(Self { options, audited, stopping, planes })
    }

    /// Takes over the certificate and the limits. The documents are read only at start.
    pub fn configure(&self, images: &ImagesConfig) {
        configure_images(&self.options, images);
        self.audited.audit.reopen();
    }

    /// Stops: accepts no more connections, and lets running transfers finish within the drain limit.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        while self.planes.join_next().await.is_some() {}
        self.audited.stop().await;
    }
}

/// Makes an ISO and an initramfs from each document, in the order of their names. Logs all errors, and returns the first.
fn publish(images: &HostImages, directory: &Path, audit: &Audit) -> Result<(), StartError> {
    let mut failed = None;
    let documents = documents(directory)?;
    check_names(&documents)?;
    for path in documents {
        let document = fs::read(&path).map_err(|source| StartError::Read { path: path.clone(), source })?;
        let (file, host) = (text(path.file_name()), text(path.file_stem()));
        let name = image_name(&file);
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
                    audit.record(Who::SERVER, ordered(&host, &image));
                }
                Err(source) => {
                    error!(document = %path.display(), error = %source, image = owner, "cannot make an image from this document");
                    failed.get_or_insert(StartError::Image { path: path.clone(), source });
                }
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

fn text(part: Option<&OsStr>) -> String {
    part.unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of the images of a document, without their suffix.
fn image_name(file: &str) -> &str {
    file.strip_suffix(".yaml").unwrap_or(file)
}

/// Refuses documents with one name, such as `worker-0` and `worker-0.yaml`: the image of one would replace that of the other.
fn check_names(documents: &[PathBuf]) -> Result<(), StartError> {
    let mut known: BTreeMap<String, &PathBuf> = BTreeMap::new();
    for second in documents {
        let name = image_name(&text(second.file_name())).to_owned();
        if let Some(first) = known.insert(name.clone(), second) {
            return Err(StartError::SameName { first: first.clone(), second: second.clone(), name });
        }
    }
    Ok(())
}

/// The event that an image was made of a document.
fn ordered(host: &str, image: &PublishedImage) -> Event {
    Event::ImageOrdered {
        image: image.id.as_ref().map(ToString::to_string).unwrap_or_default(),
        host: Some(host.to_owned()),
        base: image.base.as_ref().map(ToString::to_string),
        new: true,
    }
}

fn documents(directory: &Path) -> Result<Vec<PathBuf>, StartError> {
    let failed = |source| StartError::Read { path: directory.to_owned(), source };
    let mut documents = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A mounted ConfigMap has links to its files, and directories whose names begin with dots.
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.is_file() {
            documents.push(path);
        }
    }
    documents.sort();
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_documents_with_one_name_are_refused() {
        let check = |names: &[&str]| {
            let documents: Vec<PathBuf> = names.iter().map(|name| Path::new("/hosts").join(name)).collect();
            check_names(&documents).map_err(|error| error.to_string())
        };
        assert_eq!(check(&["worker-0", "worker-0.yml", "worker-1.yaml"]), Ok(()));
        let error = check(&["a.yaml", "worker-0", "worker-0.yaml"]).unwrap_err();
        assert_eq!(
            error,
            "/hosts/worker-0 and /hosts/worker-0.yaml would both be served as worker-0.iso: rename one of them"
        );
    }
}
