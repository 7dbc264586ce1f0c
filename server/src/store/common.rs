//! What an image has in common at its addresses under two installation keys.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use media::access::ImageAccess;
use media::reading::ImageReading;
use parking_lot::RwLock;

/// What does not depend on the installation key.
#[derive(Default)]
pub(super) struct Common {
    /// The limits on the access to the image.
    pub(super) access: RwLock<Option<Arc<ImageAccess>>>,
    pub(super) reading: ImageReading,
    /// Whether somebody ordered the image again.
    pub(super) ordered_again: AtomicBool,
}

impl Common {
    pub(super) fn new(access: Option<ImageAccess>) -> Self {
        Self { access: RwLock::new(access.map(Arc::new)), ..Self::default() }
    }
}
