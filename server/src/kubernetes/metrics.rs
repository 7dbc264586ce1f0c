//! Metrics of the controller. No label names a host.

use std::collections::BTreeMap;

use http::{Method, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{data_image, decide};
use crate::metrics::{registered, registered_counters, registered_seconds};

/// Buckets for the duration of a reconciliation: nothing to do, a build, a slow API server.
const SECONDS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Reasons why an image cannot be built.
const REASONS: [&str; 8] = [
    decide::reason::CONFIGURATION,
    decide::reason::MISSING_NETWORK_DATA,
    decide::reason::FORBIDDEN,
    decide::reason::INVALID,
    decide::reason::LOST,
    decide::reason::RECONCILIATION,
    data_image::reason::MISSING,
    data_image::reason::INVALID,
];

/// Metrics of the controller. Clones share their values.
#[derive(Debug, Clone)]
pub struct KubernetesMetrics {
    reconciliations: Family<[(&'static str, &'static str); 1], Counter>,
    duration: Histogram,
    failures: Family<[(&'static str, &'static str); 1], Counter>,
    failing: Family<[(&'static str, &'static str); 1], Gauge>,
    objects: Gauge,
    data_images: Gauge,
    leader: Gauge,
    owners_refused: Gauge,
    contested: Gauge,
    requests: Family<[(&'static str, &'static str); 2], Counter>,
    dropped_events: Counter,
}

impl KubernetesMetrics {
    /// Makes metrics without an exporter.
    pub fn unexported() -> Self {
        Self::new(&mut Registry::default())
    }

    /// Makes the metrics, and registers them with an exporter.
    pub fn new(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("kubernetes");
        let duration = "How long reconciling an object took, with its image and the API server's answers";
        let failures = "Images that could not be built, by the reason in the condition or the Event";
        let failing = "PreprovisioningImages and DataImages whose image cannot be built at the moment, by the reason in the \
                       condition or the Event; 0 on replicas that do not write";
        let refused = "Whether the API server refuses to set owners of Secrets (1)";
        let leader = "Whether this replica is the leader and can make images (1) or not (0)";
        let contested = "PreprovisioningImages, DataImages and Secrets whose content another controller replaces";
        let dropped = "Events that dayone did not publish, because too many others waited for the API server";
        Self {
            reconciliations: registered(registry, "reconciliations", "Reconciled objects, by result"),
            duration: registered_seconds(registry, "reconciliation_duration", duration, SECONDS),
            failures: registered_counters(registry, ("failures", failures), "reason", REASONS),
            failing: registered(registry, "failing_objects", failing),
            objects: registered(registry, "objects", "Known PreprovisioningImages"),
            data_images: registered(registry, "data_images", "Known DataImages"),
            leader: registered(registry, "leader", leader),
            owners_refused: registered(registry, "owner_references_refused", refused),
            contested: registered(registry, "contested_objects", contested),
            requests: registered(registry, "api_requests", "Requests to the API server"),
            dropped_events: registered(registry, "dropped_events", dropped),
        }
    }

    pub(super) fn reconciled(&self, result: &'static str, seconds: f64) {
        self.reconciliations.get_or_create(&[("result", result)]).inc();
        self.duration.observe(seconds);
    }

    pub(super) fn failed(&self, reason: &'static str) {
        self.failures.get_or_create(&[("reason", reason)]).inc();
    }

    /// Sets the numbers of objects that have no image, by reason. All other reasons have none.
    pub(super) fn failing(&self, counts: &BTreeMap<&'static str, usize>) {
        for reason in REASONS {
            let count = counts.get(reason).copied().unwrap_or_default();
            set(&self.failing.get_or_create(&[("reason", reason)]), count);
        }
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

    pub(super) fn dropped_events(&self, count: usize) {
        self.dropped_events.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
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
        self.requests.get_or_create(&[("method", method), ("status", status)]).inc();
    }
}

fn set(gauge: &Gauge, count: usize) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}
