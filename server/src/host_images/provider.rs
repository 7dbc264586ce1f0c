//! What makes images for hosts: [`HostImages`](super::HostImages), or a substitute in tests.

use imagelib::recipe::RecipeId;
use tokio::sync::watch;

use super::{BuildError, DriveRequest, ImageRequest, PublishedImage};

/// Whether there are bases for an architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// There are both an ISO and an initramfs.
    Supported,
    /// There are bases, and none for this architecture.
    Unsupported,
    /// dayone cannot tell, for this reason: it has no base at all, or cannot read a directory.
    Unknown(String),
}

/// Makes images. You may call all methods often: a request for an image that is published already changes nothing.
pub trait ImageProvider: Send + Sync + 'static {
    /// Whether there are bases for this architecture.
    fn supports(&self, architecture: &str) -> Support;

    /// Whether any image can be made at the moment.
    fn can_make_images(&self) -> bool {
        true
    }

    /// Makes the image, and serves it in place of the owner's previous one. Takes some 100 µs for a usual host.
    fn publish(&self, request: &ImageRequest<'_>) -> Result<PublishedImage, BuildError>;

    /// Makes the drive, and serves it in place of the owner's previous one.
    fn publish_drive(&self, request: &DriveRequest<'_>) -> Result<PublishedImage, BuildError>;

    /// The drive that the store serves for the owner, without findings.
    fn drive(&self, owner: &str) -> Option<PublishedImage>;

    /// Discards what this owner has, at once. Returns its image, if it had one.
    fn discard(&self, owner: &str) -> Option<RecipeId>;

    /// Discards what owners have for which `keep` is false.
    fn retain(&self, keep: &dyn Fn(&str) -> bool);

    /// Changes when the same requests may give other images: a base, or a file with settings, has changed.
    fn changed(&self) -> watch::Receiver<u64>;
}
