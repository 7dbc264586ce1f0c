//! Metrics of the controller. No label names a host.

use std::sync::atomic::AtomicU64;

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Buckets for the duration of a reconciliation: nothing to do, a build, a slow API server.
const SECONDS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    status: &'static str,
}

/// Metrics of the controller. Clones share their values.
#[derive(Debug, Clone)]
pub struct KubernetesMetrics {
    reconciliations: Family<Outcome, Counter>,
    duration: Histogram,
    failures: Family<Reason, Counter>,
    objects: Gauge,
    data_images: Gauge,
    leader: Gauge,
    owners_refused: Gauge,
    contested: Gauge,
    requests: Family<Request, Counter<u64, AtomicU64>>,
}

impl Default for KubernetesMetrics {
    fn default() -> Self {
        Self {
            reconciliations: Family::default(),
            duration: Histogram::new(SECONDS),
            failures: Family::default(),
            objects: Gauge::default(),
            data_images: Gauge::default(),
            leader: Gauge::default(),
            owners_refused: Gauge::default(),
            contested: Gauge::default(),
            requests: Family::default(),
        }
    }
}

impl KubernetesMetrics {
    /// Registers the metrics with an exporter.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("kubernetes");
        registry.register("reconciliations", "Reconciled objects, by result", self.reconciliations.clone());
        registry.register_with_unit(
            "reconciliation_duration",
            "How long reconciling an object took, with its image and the API server's answers",
            Unit::Seconds,
            self.duration.clone(),
        );
        let failures = "Images that could not be built, by the reason in the condition or the Event";
        registry.register("failures", failures, self.failures.clone());
        registry.register("objects", "Known PreprovisioningImages", self.objects.clone());
        registry.register("data_images", "Known DataImages", self.data_images.clone());
        registry.register("leader", "Whether this replica is the leader (1) or not (0)", self.leader.clone());
        let refused = "Whether the API server refuses to set owners of Secrets (1)";
        registry.register("owner_references_refused", refused, self.owners_refused.clone());
        let contested = "PreprovisioningImages whose URL another controller replaces";
        registry.register("contested_objects", contested, self.contested.clone());
        registry.register("api_requests", "Requests to the API server", self.requests.clone());
    }

    pub(super) fn reconciled(&self, result: &'static str, seconds: f64) {
        self.reconciliations.get_or_create(&Outcome { result }).inc();
        self.duration.observe(seconds);
    }

    pub(super) fn failed(&self, reason: &'static str) {
        self.failures.get_or_create(&Reason { reason }).inc();
    }

    pub(super) fn objects(&self, count: usize) {
        set(&self.objects, count);
    }

    pub(super) fn data_images(&self, count: usize) {
        set(&self.data_images, count);
    }

    pub(super) fn leader(&self, leads: bool) {
        self.leader.set(leads.into());
    }

    pub(super) fn owners_refused(&self, refused: bool) {
        self.owners_refused.set(refused.into());
    }

    pub(super) fn contested(&self, count: usize) {
        set(&self.contested, count);
    }

    /// Counts a request. `status` is `None` if the API server did not answer.
    pub(super) fn request(&self, method: &Method, status: Option<StatusCode>) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::PATCH => "PATCH",
            _ => "other",
        };
        let status = match status.map_or(0, |status| status.as_u16()) {
            0 => "none",
            200..300 => "2xx",
            404 => "404",
            409 => "409",
            400..500 => "4xx",
            _ => "5xx",
        };
        self.requests.get_or_create(&Request { method, status }).inc();
    }
}

fn set(gauge: &Gauge, count: usize) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}
