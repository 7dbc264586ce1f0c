//! Metrics of hosts' images. No label names a host.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{BuildError, PublishedImage};
use crate::metrics::{registered_counters, registered_seconds};

/// Buckets for the duration of a build: a usual host, hundreds of interfaces, a busy machine.
const SECONDS: [f64; 8] = [0.0005, 0.001, 0.002, 0.005, 0.02, 0.1, 1.0, 10.0];

/// Metrics of hosts' images. Clones share their values.
#[derive(Debug, Clone)]
pub struct HostImageMetrics {
    builds: Family<[(&'static str, &'static str); 1], Counter>,
    duration: Histogram,
}

impl HostImageMetrics {
    /// Makes metrics without an exporter.
    pub fn unexported() -> Self {
        Self::new(&mut Registry::default())
    }

    /// Makes the metrics, and registers them with an exporter.
    pub fn new(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("host_image");
        let builds = ("builds", "Requests for images, by result");
        let builds = registered_counters(registry, builds, "result", ["published", "invalid", "not_ready", "error"]);
        let help = "How long building an image from network data took";
        Self { builds, duration: registered_seconds(registry, "build_duration", help, SECONDS) }
    }

    pub(super) fn built(&self, outcome: &Result<PublishedImage, BuildError>, duration: Duration) {
        let result = match outcome {
            Ok(_) => "published",
            Err(BuildError::Invalid { .. } | BuildError::NoBase(_)) => "invalid",
            Err(BuildError::NotReady(_) | BuildError::Kept(_)) => "not_ready",
            Err(BuildError::Other(_)) => "error",
        };
        self.builds.get_or_create(&[("result", result)]).inc();
        self.duration.observe(duration.as_secs_f64());
    }
}
