//! What the controller asks of whoever makes images.

use tokio::sync::watch;

use crate::host_images::HostImages;

pub use crate::host_images::{BuildError, DriveRequest, HostFormat, ImageRequest, NetworkSource, PublishedImage};

/// Makes images. All calls are quick enough to be made often: an order for what is published already changes nothing.
pub trait ImageProvider: Send + Sync + 'static {
    /// Whether there are bases for this architecture.
    fn supports(&self, architecture: &str) -> bool;

    /// Publishes the image. May take as long as a build does.
    fn publish(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError>;

    /// Publishes a drive with a host's configuration.
    fn publish_drive(&self, request: &DriveRequest<'_>) -> Result<PublishedImage, BuildError>;

    /// Takes back what belongs to this owner.
    fn discard(&self, owner: &str);

    /// Takes back what belongs to owners for which `keep` is false.
    fn retain(&self, keep: &dyn Fn(&str) -> bool);

    /// Changes when an order may now have another outcome, for instance because there is another base.
    fn changed(&self) -> watch::Receiver<u64>;
}

impl ImageProvider for HostImages {
    fn supports(&self, architecture: &str) -> bool {
        self.supports(architecture)
    }

    fn publish(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError> {
        self.publish(request)
    }

    fn publish_drive(&self, request: &DriveRequest<'_>) -> Result<PublishedImage, BuildError> {
        self.publish_drive(request)
    }

    fn discard(&self, owner: &str) {
        self.discard(owner);
    }

    fn retain(&self, keep: &dyn Fn(&str) -> bool) {
        self.retain(keep);
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changed()
    }
}
