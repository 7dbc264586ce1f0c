//! A replica for tests: its images need no base, and it knows its objects without an API server.

use std::sync::Arc;

use imagelib::recipe::RecipeId;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::runtime::reflector;
use kube::runtime::watcher::Event;
use tokio::sync::watch;

use super::context::{Context, StaleVersions};
use super::events::EventRecorder;
use super::failing::Failing;
use super::metrics::KubernetesMetrics;
use super::readiness::Readiness;
use super::resources::PreprovisioningImage;
use super::retries::Retries;
use super::unready::Unready;
use crate::audit::Audit;
use crate::host_images::{BuildError, DriveRequest, ImageProvider, ImageRequest, PublishedImage, Support};

/// Makes an image for each owner, and calls this with the owner before.
struct Images<F>(F);

impl<F: Fn(&str) + Send + Sync + 'static> ImageProvider for Images<F> {
    fn supports(&self, _: &str) -> Support {
        Support::Supported
    }

    fn publish(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError> {
        (self.0)(request.owner);
        Ok(PublishedImage { url: "http://192.0.2.1/i/a/boot.iso".to_owned(), ..PublishedImage::default() })
    }

    fn publish_drive(&self, _: &DriveRequest<'_>) -> Result<PublishedImage, BuildError> {
        Err(BuildError::invalid("there are no drives here"))
    }

    fn drive(&self, _: &str) -> Option<PublishedImage> {
        None
    }

    fn discard(&self, _: &str) -> Option<RecipeId> {
        None
    }

    fn retain(&self, _: &dyn Fn(&str) -> bool) {}

    fn changed(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }
}

/// The context of a replica that knows these objects and no Secrets, and calls `publishing` with the owner before it makes an image.
pub(super) fn context(
    client: Client,
    known: impl IntoIterator<Item = PreprovisioningImage>,
    leads: watch::Receiver<bool>,
    publishing: impl Fn(&str) + Send + Sync + 'static,
) -> Context<PreprovisioningImage> {
    let (objects, mut writer) = reflector::store();
    writer.apply_watcher_event(&Event::Init);
    known.into_iter().for_each(|object| writer.apply_watcher_event(&Event::InitApply(object)));
    writer.apply_watcher_event(&Event::InitDone);
    let (secrets, mut writer) = reflector::store::<Secret>();
    writer.apply_watcher_event(&Event::Init);
    writer.apply_watcher_event(&Event::InitDone);
    let metrics = KubernetesMetrics::unexported();
    let (events, _) = EventRecorder::new(client.clone(), "dayone-0", metrics.clone());
    Context {
        client,
        images: Arc::new(Images(publishing)),
        objects,
        secrets,
        leads,
        events,
        failing: Arc::new(Failing::new(metrics.clone())),
        metrics,
        audit: Audit::default(),
        readiness: Readiness::default(),
        retries: Retries::new(2),
        stale: StaleVersions::default(),
        contention: Arc::default(),
        owner_permission: Arc::default(),
        memory: Unready::default(),
    }
}
