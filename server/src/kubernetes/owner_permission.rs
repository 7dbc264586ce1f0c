//! Whether dayone may set the owners of Secrets.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// After this time, dayone tries again: somebody may have granted the right.
const AGAIN: Duration = Duration::from_hours(1);

/// Whether the API server lets dayone set the owner of a Secret. The admission plugin
/// `OwnerReferencesPermissionEnforcement`, which `OpenShift` runs by default, requires the right to delete the Secret.
#[derive(Debug, Default)]
pub(super) struct OwnerPermission(Mutex<Option<Instant>>);

impl OwnerPermission {
    pub(super) fn may_set(&self) -> bool {
        self.0.lock().is_none_or(|refused| refused.elapsed() >= AGAIN)
    }

    /// Notes a refusal, and returns whether it is the first one.
    pub(super) fn refused(&self) -> bool {
        self.0.lock().replace(Instant::now()).is_none()
    }
}
