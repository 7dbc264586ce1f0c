//! Locks for images: one caller at a time works on an image, and any number on different images.

use std::collections::HashSet;

use imagelib::recipe::RecipeId;
use parking_lot::{Condvar, Mutex};

/// The images that are locked.
#[derive(Debug, Default)]
pub(super) struct ImageLocks {
    locked: Mutex<HashSet<RecipeId>>,
    released: Condvar,
}

impl ImageLocks {
    /// Waits until nobody else has locked the image, and locks it until the returned value is dropped.
    pub(super) fn lock(&self, id: RecipeId) -> ImageLock<'_> {
        let mut locked = self.locked.lock();
        while !locked.insert(id) {
            self.released.wait(&mut locked);
        }
        ImageLock { locks: self, id }
    }
}

/// The right to work on an image.
pub(super) struct ImageLock<'a> {
    locks: &'a ImageLocks,
    id: RecipeId,
}

impl Drop for ImageLock<'_> {
    fn drop(&mut self) {
        self.locks.locked.lock().remove(&self.id);
        self.locks.released.notify_all();
    }
}
