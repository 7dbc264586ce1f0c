//! One at a time for each image, all at once for different ones.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use imagelib::recipe::RecipeId;

/// Who is at work on which image.
#[derive(Debug, Default)]
pub(super) struct Turns {
    busy: Mutex<HashSet<RecipeId>>,
    done: Condvar,
}

impl Turns {
    /// Waits until nobody else is at work on the image. The turn ends when the value is dropped.
    pub(super) fn wait(&self, id: RecipeId) -> Turn<'_> {
        let mut busy = self.lock();
        while !busy.insert(id) {
            busy = self.done.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
        Turn { turns: self, id }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<RecipeId>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to work on an image.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    id: RecipeId,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.lock().remove(&self.id);
        self.turns.done.notify_all();
    }
}
