//! The objects for which dayone cannot make an image, for as long as it cannot.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;

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
    reasons: HashMap<String, &'static str>,
    /// How many objects have each of these reasons.
    counts: BTreeMap<&'static str, usize>,
}

impl Failing {
    pub(super) fn new(metrics: KubernetesMetrics) -> Self {
        Self { metrics, state: Mutex::default() }
    }

    /// Notes why there is no image, or that there is one, or none is wanted.
    pub(super) fn note(&self, owner: &str, reason: Option<&'static str>) {
        let mut state = self.state.lock();
        let before = match reason {
            Some(reason) => state.reasons.insert(owner.to_owned(), reason),
            None => state.reasons.remove(owner),
        };
        if before == reason {
            return;
        }
        if let Some(count) = before.and_then(|before| state.counts.get_mut(before)) {
            *count = count.saturating_sub(1);
        }
        if let Some(reason) = reason {
            let count = state.counts.entry(reason).or_default();
            *count = count.saturating_add(1);
        }
        self.show(&state);
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
        failing.lead(false);
        assert_eq!(count("ImageBuildInvalid"), "0");
    }
}
