//! Metrics of fetched bases.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::metrics::registered_counters;

/// How fetching a base has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Fetched,
    Failed,
}

impl Outcome {
    const ALL: [Self; 2] = [Self::Fetched, Self::Failed];

    fn word(self) -> &'static str {
        match self {
            Self::Fetched => "fetched",
            Self::Failed => "failed",
        }
    }
}

/// Metrics of fetched bases. Clones share their values.
#[derive(Debug, Clone)]
pub struct FetchMetrics(Family<[(&'static str, &'static str); 1], Counter>);

impl FetchMetrics {
    /// Makes the metrics, and registers them with an exporter.
    pub fn new(registry: &mut Registry) -> Self {
        let help = "Bases that were fetched, or cannot be fetched, by outcome";
        Self(registered_counters(registry, ("base_fetches", help), "outcome", Outcome::ALL.map(Outcome::word)))
    }

    pub(super) fn ended(&self, outcome: Outcome) {
        self.0.get_or_create(&[("outcome", outcome.word())]).inc();
    }
}
