//! Whether dayone has reconciled every object that existed when it started.

use std::collections::HashSet;

use parking_lot::Mutex;

/// What dayone still has to list and to reconcile before it is ready.
#[derive(Debug, Default)]
pub(super) struct Readiness(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    secrets_listed: bool,
    /// `None` until the objects are listed.
    pending: Option<HashSet<String>>,
}

impl Readiness {
    /// Notes that all Secrets are known.
    pub(super) fn secrets_listed(&self) {
        self.0.lock().secrets_listed = true;
    }

    /// Notes the objects. Objects that are new in a later list did not exist at the start. Those that are missing in it will
    /// never be reconciled.
    pub(super) fn objects_listed(&self, owners: impl Iterator<Item = String>) {
        let mut state = self.0.lock();
        let mut listed: HashSet<String> = owners.collect();
        if let Some(pending) = &state.pending {
            listed.retain(|owner| pending.contains(owner));
        }
        state.pending = Some(listed);
    }

    /// Notes that an object was reconciled, or is gone.
    pub(super) fn seen(&self, owner: &str) {
        if let Some(pending) = &mut self.0.lock().pending {
            pending.remove(owner);
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        let state = self.0.lock();
        state.secrets_listed && state.pending.as_ref().is_some_and(HashSet::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_ready_with_both_lists_and_every_object_of_the_first_list_reconciled() {
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
    fn an_object_that_is_missing_in_a_later_list_is_not_waited_for() {
        let readiness = Readiness::default();
        let owners = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().into_iter();
        readiness.secrets_listed();
        readiness.objects_listed(owners(&["a", "b"]));
        readiness.objects_listed(owners(&["b", "c"]));
        assert!(!readiness.is_ready());
        readiness.seen("b");
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
