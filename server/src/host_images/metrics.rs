//! Metrics of hosts' images. No label names a host.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::{BuildError, PublishedImage};

/// Buckets for the duration of a build: a usual host, hundreds of interfaces, a busy machine.
const SECONDS: [f64; 8] = [0.0005, 0.001, 0.002, 0.005, 0.02, 0.1, 1.0, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    result: &'static str,
}

/// Metrics of hosts' images. Clones share their values.
#[derive(Debug, Clone)]
pub struct HostImageMetrics {
    builds: Family<Outcome, Counter>,
    duration: Histogram,
}

impl Default for HostImageMetrics {
    fn default() -> Self {
        Self { builds: Family::default(), duration: Histogram::new(SECONDS) }
    }
}

impl HostImageMetrics {
    /// Registers the metrics with an exporter.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("host_image");
        registry.register("builds", "Requests for images, by result", self.builds.clone());
        let duration = "How long building an image from network data took";
        registry.register_with_unit("build_duration", duration, Unit::Seconds, self.duration.clone());
    }

    pub(super) fn built(&self, outcome: &Result<PublishedImage, BuildError>, duration: Duration) {
        let result = match outcome {
            Ok(_) => "published",
            Err(BuildError::Invalid { .. }) => "invalid",
            Err(BuildError::NotReady(_) | BuildError::Kept(_)) => "not_ready",
            Err(BuildError::Other(_)) => "error",
        };
        self.builds.get_or_create(&Outcome { result }).inc();
        self.duration.observe(duration.as_secs_f64());
    }
}
