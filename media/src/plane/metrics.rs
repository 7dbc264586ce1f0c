//! Counters of the media plane.

use http::StatusCode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::path::Target;
use crate::access::Refusal;

/// Status codes and kinds whose counters begin at zero: Prometheus does not see the first increment of a counter that appears with
/// it, and alerts are about these.
const CODES: [u16; 5] = [200, 206, 403, 404, 503];
const KINDS: [&str; 3] = ["image", "call-home", "path"];
const REFUSALS: [Refusal; 2] = [Refusal::Address, Refusal::Reads];

/// Counters of the media plane. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct MediaMetrics {
    // The plane uses few status codes, so the exact code costs no more than its class.
    requests: Family<[(&'static str, u16); 1], Counter>,
    unknown: Family<[(&'static str, &'static str); 1], Counter>,
    refused: Family<[(&'static str, &'static str); 1], Counter>,
    bytes: Counter,
    cold_reads: Counter,
    active: Gauge,
    aborted: Counter,
}

impl MediaMetrics {
    /// Registers the counters.
    pub fn register(&self, registry: &mut Registry) {
        for code in CODES {
            drop(self.requests.get_or_create(&[("code", code)]));
        }
        for kind in KINDS {
            drop(self.unknown.get_or_create(&[("kind", kind)]));
        }
        for refusal in REFUSALS {
            drop(self.refused.get_or_create(&[("reason", reason(refusal))]));
        }
        let registry = registry.sub_registry_with_prefix("media");
        registry.register("requests", "Requests by status code", self.requests.clone());
        registry.register(
            "unknown_requests",
            "Requests that found nothing, by what they were for: images (unknown tokens and names), calls home, other \
             paths",
            self.unknown.clone(),
        );
        registry.register(
            "refused_requests",
            "Requests for images that the image's limits refused, by the limit: address (only_from), reads (max_reads)",
            self.refused.clone(),
        );
        registry.register_with_unit("sent", "Image bytes given to connections", Unit::Bytes, self.bytes.clone());
        registry.register("cold_reads", "Reads that had to wait for a disk", self.cold_reads.clone());
        registry.register("active_transfers", "Downloads and ranges being sent", self.active.clone());
        registry.register("aborted_transfers", "Transfers that ended early, on either side", self.aborted.clone());
    }

    pub(super) fn request(&self, status: StatusCode) {
        self.requests.get_or_create(&[("code", status.as_u16())]).inc();
    }

    pub(super) fn unknown(&self, target: Option<Target<'_>>) {
        let kind = match target {
            Some(Target::File { .. } | Target::Uuid { .. } | Target::Name { .. }) => "image",
            Some(Target::CallHome { .. }) => "call-home",
            None => "path",
        };
        self.unknown.get_or_create(&[("kind", kind)]).inc();
    }

    pub(super) fn refused(&self, refusal: Refusal) {
        self.refused.get_or_create(&[("reason", reason(refusal))]).inc();
    }

    pub(super) fn cold_read(&self) {
        self.cold_reads.inc();
    }

    pub(super) fn transfer(&self) -> Transfer {
        self.active.inc();
        Transfer { metrics: self.clone(), complete: false }
    }
}

fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Address => "address",
        Refusal::Reads => "reads",
    }
}

/// A transfer, which counts as active until it is dropped.
#[derive(Debug)]
pub(super) struct Transfer {
    metrics: MediaMetrics,
    complete: bool,
}

impl Transfer {
    pub(super) fn sent(&self, count: u64) {
        self.metrics.bytes.inc_by(count);
    }

    pub(super) fn complete(&mut self) {
        self.complete = true;
    }

    pub(super) fn metrics(&self) -> &MediaMetrics {
        &self.metrics
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.metrics.active.dec();
        if !self.complete {
            self.metrics.aborted.inc();
        }
    }
}
