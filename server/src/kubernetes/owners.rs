//! Whether dayone may set the owners of Secrets.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The right to set owners may be granted: it is tried again after this time.
const AGAIN: Duration = Duration::from_hours(1);

/// Whether the API server lets dayone set the owner of a Secret. The admission plugin
/// `OwnerReferencesPermissionEnforcement`, which `OpenShift` runs by default, demands the right to delete the Secret for that.
#[derive(Debug, Default)]
pub(super) struct Owners(Mutex<Option<Instant>>);

impl Owners {
    pub(super) fn may_be_set(&self) -> bool {
        self.lock().is_none_or(|refused| refused.elapsed() >= AGAIN)
    }

    /// Notes a refusal; returns whether it is the first.
    pub(super) fn refused(&self) -> bool {
        self.lock().replace(Instant::now()).is_none()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
