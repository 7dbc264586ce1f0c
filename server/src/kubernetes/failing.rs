//! The objects for which dayone cannot make an image, for as long as it cannot.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;

use super::decide::reason;
use super::metrics::KubernetesMetrics;

/// Why objects have no image, by owner. Keeps the metric of the number of objects.
pub(super) struct Failing {
    metrics: KubernetesMetrics,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether this replica writes. Failures on the others affect no host, so they do not count.
    leads: bool,
    /// By owner.
    troubles: HashMap<String, Trouble>,
    /// How many objects have each of these reasons.
    counts: BTreeMap<&'static str, usize>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Trouble {
    /// Why there is no image.
    reason: Option<&'static str>,
    /// Whether requests of the reconciliation keep failing, so that dayone may not even know whether there is a reason.
    is_stuck: bool,
}

impl Trouble {
    fn reason(self) -> Option<&'static str> {
        self.reason.or(self.is_stuck.then_some(reason::RECONCILIATION))
    }
}

impl Failing {
    pub(super) fn new(metrics: KubernetesMetrics) -> Self {
        Self { metrics, state: Mutex::default() }
    }

    /// Notes why there is no image, or that there is one, or none is wanted.
    pub(super) fn note(&self, owner: &str, reason: Option<&'static str>) {
        self.change(owner, |trouble| trouble.reason = reason);
    }

    /// Notes whether the reconciliation of the object keeps failing. Returns whether it did not before.
    pub(super) fn stuck(&self, owner: &str, is_stuck: bool) -> bool {
        let before = self.change(owner, |trouble| trouble.is_stuck = is_stuck);
        is_stuck && !before.is_stuck
    }

    /// Changes what is known of an object, and returns what was known before.
    fn change(&self, owner: &str, change: impl FnOnce(&mut Trouble)) -> Trouble {
        let mut state = self.state.lock();
        let before = state.troubles.get(owner).copied().unwrap_or_default();
        let mut after = before;
        change(&mut after);
        if after == before {
            return before;
        }
        if after == Trouble::default() {
            state.troubles.remove(owner);
        } else {
            state.troubles.insert(owner.to_owned(), after);
        }
        let (reason_before, reason) = (before.reason(), after.reason());
        if reason_before != reason {
            if let Some(count) = reason_before.and_then(|reason| state.counts.get_mut(reason)) {
                *count = count.saturating_sub(1);
            }
            if let Some(reason) = reason {
                let count = state.counts.entry(reason).or_default();
                *count = count.saturating_add(1);
            }
            self.show(&state);
        }
        before
    }

    /// Notes whether this replica writes.
    pub(super) fn lead(&self, leads: bool) {
        let mut state = self.state.lock();
        state.leads = leads;
        self.show(&state);
    }

    /// Sets the metric, while the state is locked: an older number must not replace a newer one.
    fn show(&self, state: &State) {
        self.metrics.failing(if state.leads { &state.counts } else { const { &BTreeMap::new() } });
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn an_object_counts_until_it_has_an_image_on_the_replica_that_writes() {
        let mut registry = Registry::default();
        let failing = Failing::new(KubernetesMetrics::new(&mut registry));
        let count = |reason: &str| {
            let mut all = String::new();
            text::encode(&mut all, &registry).unwrap();
            let sample = format!("kubernetes_failing_objects{{reason=\"{reason}\"}} ");
            let value = all.lines().find_map(|line| line.strip_prefix(&sample));
            value.unwrap_or_else(|| panic!("no {sample}in {all}")).to_owned()
        };
        failing.note("a", Some("MissingNetworkData"));
        failing.note("b", Some("MissingNetworkData"));
        assert_eq!(count("MissingNetworkData"), "0", "another replica writes");
        failing.lead(true);
        assert_eq!(count("MissingNetworkData"), "2");
        failing.note("a", Some("MissingNetworkData"));
        failing.note("b", Some("ImageBuildInvalid"));
        assert_eq!([count("MissingNetworkData"), count("ImageBuildInvalid")], ["1", "1"]);
        failing.note("a", None);
        assert_eq!([count("MissingNetworkData"), count("ImageBuildInvalid")], ["0", "1"]);
        assert_eq!([failing.stuck("b", true), failing.stuck("b", true), failing.stuck("a", true)], [true, false, true]);
        let counts = || [count("ImageBuildInvalid"), count("ReconciliationFailed")];
        assert_eq!(counts(), ["1", "1"], "an object counts once");
        failing.note("a", None);
        assert_eq!(counts(), ["1", "1"], "an attempt that has not ended says nothing about its requests");
        assert!(!failing.stuck("a", false));
        assert_eq!(counts(), ["1", "0"]);
        failing.lead(false);
        assert_eq!(count("ImageBuildInvalid"), "0");
    }
}
