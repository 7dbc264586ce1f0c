//! Images that the store no longer publishes, for whoever records what is read of them: transfers of them go on.

use std::fmt;
use std::sync::Arc;

use imagelib::recipe::RecipeId;
use media::reading::{TakeAfter, TakenRead};
use parking_lot::Mutex;

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

    pub(super) fn keep(&self, keep: bool) {
        let mut released = self.0.lock();
        let kept = released.take().unwrap_or_default();
        *released = keep.then_some(kept);
    }

    pub(super) fn take(&self) -> Vec<ReleasedImage> {
        self.0.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }
}
