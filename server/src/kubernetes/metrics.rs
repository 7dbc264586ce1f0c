//! Counters of the controller. No label says which host.

use std::sync::atomic::AtomicU64;

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds of a reconciliation's duration: nothing to do, a build, an API server that is slow.
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

/// Counters of the controller. Clones count together.
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
    /// Makes the counters known to an exporter.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("kubernetes");
        registry.register("reconciliations", "Objects looked at, by what was done", self.reconciliations.clone());
        registry.register_with_unit(
            "reconciliation_duration",
            "How long it took to look at an object, its image and the API server's answers included",
            Unit::Seconds,
            self.duration.clone(),
        );
        registry.register(
            "failures",
            "Images not made, by the reason in the condition or the Event",
            self.failures.clone(),
        );
        registry.register("objects", "PreprovisioningImages that are known", self.objects.clone());
        registry.register("data_images", "DataImages that are known", self.data_images.clone());
        registry.register("leader", "Whether this replica writes (1) or follows (0)", self.leader.clone());
        registry.register(
            "owner_references_refused",
            "Whether the API server refuses owners of Secrets (1): they are labelled without one",
            self.owners_refused.clone(),
        );
        registry.register(
            "contested_objects",
            "PreprovisioningImages into which another controller writes other URLs",
            self.contested.clone(),
        );
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
        self.objects.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(super) fn data_images(&self, count: usize) {
        self.data_images.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(super) fn leader(&self, leads: bool) {
        self.leader.set(leads.into());
    }

    pub(super) fn owners_refused(&self, refused: bool) {
        self.owners_refused.set(refused.into());
    }

    pub(super) fn contested(&self, count: usize) {
        self.contested.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Counts an answer, or that there was none.
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
