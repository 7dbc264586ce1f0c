//! Images that the store no longer publishes, for whoever records what is read of them: transfers of them go on.

use std::fmt;
use std::sync::Arc;

use imagelib::recipe::RecipeId;
use media::reading::{TakeAfter, TakenRead};
use parking_lot::Mutex;

use super::Store;
use super::common::Common;
use super::stored_image::StoredImage;

/// An image that the store has released. Does not keep the base open.
pub struct ReleasedImage {
    id: RecipeId,
    label: Option<String>,
    has_ended: bool,
    common: Arc<Common>,
}

impl ReleasedImage {
    /// The id of the image.
    pub fn id(&self) -> RecipeId {
        self.id
    }

    /// The user's name for the host.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Whether its time to live was over when it was released.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether somebody may still read it: a request is looking it up, or an answer is under way.
    pub fn is_in_use(&self) -> bool {
        // In this order, because a request gets the record of the file before it lets go of the image.
        Arc::strong_count(&self.common) > 1 || self.common.reading.is_in_use()
    }

    /// Takes what clients have read, as [`StoredImage::take_reads`] does.
    pub fn take_reads(&self, after: TakeAfter) -> (Vec<TakenRead>, u64) {
        self.common.reading.take_reads(after)
    }
}

impl fmt::Debug for ReleasedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleasedImage").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The images that were released since somebody last took them; `None` if nobody does.
#[derive(Debug, Default)]
pub(super) struct Released(Mutex<Option<Vec<ReleasedImage>>>);

impl Released {
    /// Keeps them from the beginning.
    pub(super) fn kept() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }

    pub(super) fn add(&self, image: &StoredImage) {
        if let Some(kept) = self.0.lock().as_mut() {
            let (id, label, has_ended) = (image.id(), image.label().map(str::to_owned), image.has_ended());
            kept.push(ReleasedImage { id, label, has_ended, common: Arc::clone(&image.common) });
        }
    }
}

impl Store {
    /// Keeps the released images for [`take_released`](Self::take_released), which must then be called every few seconds, or does not keep
    /// them. A store that was opened from a data directory keeps them until this is called, so that none of its start is missing.
    pub fn keep_released(&self, keep: bool) {
        let mut released = self.released.0.lock();
        let kept = released.take().unwrap_or_default();
        *released = keep.then_some(kept);
    }

    /// Takes the images that were released since the last call.
    pub fn take_released(&self) -> Vec<ReleasedImage> {
        self.released.0.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// All images that the store has not released yet, also those whose time to live is over.
    pub fn unreleased_images(&self) -> Vec<Arc<StoredImage>> {
        self.images.all()
    }
}
