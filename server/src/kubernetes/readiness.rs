//! Whether everything that was there at the start has been looked at.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// What is still to be looked at.
#[derive(Debug, Default)]
pub(super) struct Readiness(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    secrets_listed: bool,
    /// `None` before the objects are known.
    pending: Option<HashSet<String>>,
}

impl Readiness {
    /// All Secrets are known.
    pub(super) fn secrets_listed(&self) {
        self.state().secrets_listed = true;
    }

    /// These are the objects. Later lists change nothing: what is new then was not there at the start.
    pub(super) fn objects_listed(&self, owners: impl Iterator<Item = String>) {
        self.state().pending.get_or_insert_with(|| owners.collect());
    }

    /// The object was looked at, or is gone.
    pub(super) fn seen(&self, owner: &str) {
        if let Some(pending) = &mut self.state().pending {
            pending.remove(owner);
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        let state = self.state();
        state.secrets_listed && state.pending.as_ref().is_some_and(HashSet::is_empty)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_who_has_both_lists_and_has_looked_at_each_object_of_the_first_once() {
        let readiness = Readiness::default();
        let owners = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().into_iter();
        readiness.seen("early");
        readiness.objects_listed(owners(&["a", "b"]));
        readiness.seen("a");
        readiness.secrets_listed();
        assert!(!readiness.is_ready());
        readiness.seen("b");
        assert!(readiness.is_ready());
        readiness.objects_listed(owners(&["c"]));
        assert!(readiness.is_ready());
    }

    #[test]
    fn without_objects_ready_needs_both_lists() {
        let readiness = Readiness::default();
        readiness.objects_listed(std::iter::empty());
        assert!(!readiness.is_ready());
        readiness.secrets_listed();
        assert!(readiness.is_ready());
    }
}
